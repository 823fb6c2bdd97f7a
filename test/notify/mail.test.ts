// Mails through Azure Communication Services: the signature, and an id that makes a repetition one mail.
import { createHash, createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { channels } from './kinds.ts'
import { capture, outgoing } from './outgoing.ts'

const { accessKey } = channels.mail_azure

test('each request is signed as Azure asks', async () => {
  const { request } = await capture('mail_azure')
  const { headers, body, url } = request!
  const { host, pathname, search } = new URL(url)
  const digest = createHash('sha256').update(body).digest('base64')
  const content = `POST\n${pathname}${search}\n${headers['x-ms-date']};${host};${digest}`
  const key = Buffer.from(accessKey, 'base64')
  const signature = createHmac('sha256', key).update(content).digest('base64')
  expect(headers['x-ms-content-sha256']).toBe(digest)
  expect(headers.authorization).toBe(
    `HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${signature}`,
  )
})

test('a repeated attempt has the same id, and another message has another', async () => {
  const idOf = async (what = outgoing()) =>
    (await capture('mail_azure', what)).request!.headers['operation-id']
  const { delivery } = outgoing()
  const other = outgoing({ delivery: { ...delivery, id: 'prod/an-event/1/completed/mail' } })
  const [first, again, next] = [await idOf(), await idOf(), await idOf(other)]
  expect(first).toMatch(/^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/)
  expect([again === first, next === first]).toEqual([true, false])
})
