// Why a channel does not accept messages, as its note says it to readers.
import { expect, test } from 'vitest'
import { reasonIn } from '../../../functions/core/message/reason.ts'

test.each([
  [
    'HTTP 400: {"status":"invalid event","message":"Event is invalid","errors":["Invalid routing key"]}',
    'Invalid routing key (HTTP 400)',
  ],
  [
    'HTTP 403: {"error":{"code":"Forbidden","message":"The flow is off"}}',
    'The flow is off (HTTP 403)',
  ],
  ['HTTP 404: {"error":"gone"}', 'gone (HTTP 404)'],
  ['HTTP 500: {"cut off', '{"cut off (HTTP 500)'],
  ['HTTP 400: {"errors":[7],"message":""}', '{"errors":[7],"message":""} (HTTP 400)'],
  ['HTTP 503: try later', 'try later (HTTP 503)'],
  ['no answer within 10 s', 'no answer within 10 s'],
])('%s', (note, reason) => {
  expect(reasonIn(note)).toBe(reason)
})
