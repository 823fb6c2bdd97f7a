// What a service answers in place of an answer: nobody can read it, and the message may have arrived.
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { outboundTo } from '../support/outbound.ts'
import { channels, notifierFor } from './kinds.ts'
import { outgoing } from './outgoing.ts'

test.each([
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n',
  'HTTP/9.9 what\r\n\r\n',
  'no answer of HTTP\r\n\r\n',
])('%j is tried twice', async (answer) => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(answer))
  })
  const { outbound, port } = await outboundTo(server)
  const channel = { ...channels.teams, url: `http://127.0.0.1:${port}/` }
  const tried = (attempts: number) => {
    const what = outgoing()
    const delivery = { ...what.delivery, attempts }
    const own = notifierFor(channel as never)
    return own.notify({ ...what, delivery }, channel as never, outbound.send)
  }
  expect(await tried(1)).toMatchObject({
    outcome: 'retry',
    note: expect.stringMatching(/^no readable answer/),
  })
  expect(await tried(2)).toMatchObject({ outcome: 'refused', mayHaveArrived: true })
})
