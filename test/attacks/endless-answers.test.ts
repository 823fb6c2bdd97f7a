// A service answers without end, and sends no body: the relay reads no more of it than of a body.
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { expect, test } from 'vitest'
import { post } from '../../functions/notify/notifier.ts'
import { channelSchema } from '../../functions/notify/registry.ts'
import { channels, notifierFor } from '../notify/kinds.ts'
import { outgoing } from '../notify/outgoing.ts'
import { createAuthority } from '../support/certificate.ts'
import { outboundTo } from '../support/outbound.ts'

const mb = 1_048_576
/** What the kernel takes before the other side reads it. */
const buffered = 12 * mb

/** Calls `begin` for each connection, and then writes `piece` without end. */
async function flooding(piece: string, begin: (socket: Socket) => Promise<unknown>) {
  let written = 0
  const server = createServer(async (socket) => {
    socket.on('error', () => {})
    await begin(socket)
    while (socket.writable) {
      written += piece.length
      if (!socket.write(piece)) await once(socket, 'drain').catch(() => {})
    }
  })
  return { ...(await outboundTo(server)), written: () => written }
}

test.each([
  ['early hints', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_024)],
  ['empty lines', '', '\r\n'.repeat(8_192)],
  [
    'the extension of a chunk',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;a=',
    'a'.repeat(16_384),
  ],
])('a receiver that sends %s', async (_, first, piece) => {
  const { outbound, port, written } = await flooding(piece, async (socket) => {
    await once(socket, 'data')
    socket.write(first)
  })
  const signal = AbortSignal.timeout(10_000)
  const answer = post(outbound.send, `http://127.0.0.1:${port}/`, '{}', {}, signal)
  const ended = await answer.catch((error: Error) => error)
  expect(ended).not.toMatchObject({ name: 'TimeoutError' })
  expect(written()).toBeLessThan(buffered)
})

test('a mail server that sends empty lines after its greeting', async () => {
  const { outbound, port, written } = await flooding('\n'.repeat(16_384), async (socket) => {
    socket.write('220 mx.example\r\n')
    await once(socket, 'data')
    socket.write('250-mx.example\r\n')
  })
  const channel = channelSchema.parse({
    ...{ kind: 'mail', server: `127.0.0.1:${port}`, tls: 'none' },
    ...{ from: 'foghorn@foghorn.example', to: 'ops@foghorn.example' },
  })
  const own = notifierFor(channel)
  const sent = await own.notify(outgoing(), channel as never, outbound.send)
  expect(sent).toMatchObject({ outcome: 'retry' })
  expect(written()).toBeLessThan(buffered)
})

test('no service is offered HTTP/2, of which nobody would count the frames', async () => {
  const { certificate, key } = createAuthority().issue({ host: 'chat.example' })
  const offered: (string[] | undefined)[] = []
  const server = createTlsServer({
    ...{ cert: certificate, key },
    ALPNCallback({ protocols }) {
      offered.push(protocols)
      return protocols.includes('http/1.1') ? 'http/1.1' : undefined
    },
  })
  server.on('secureConnection', (socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'))
  server.on('tlsClientError', () => {})
  const { outbound, port } = await outboundTo(server)
  const url = `https://127.0.0.1:${port}/`
  await post(outbound.send, url, '{}', {}, AbortSignal.timeout(5_000)).catch(() => {})
  expect(offered.flat()).not.toContain('h2')
})

test('a page in place of an answer is known as one, however large it is', async () => {
  const page = `<!doctype html><html>${'x'.repeat(3 * mb)}</html>`
  const head = `HTTP/1.1 200 OK\r\ncontent-length: ${page.length}\r\n\r\n`
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(head + page))
  })
  const { outbound, port } = await outboundTo(server)
  const channel = { ...channels.teams, url: `http://127.0.0.1:${port}/` } as never
  const sent = await notifierFor(channel).notify(outgoing(), channel, outbound.send)
  expect(sent).toMatchObject({ outcome: 'refused', broken: true })
})
