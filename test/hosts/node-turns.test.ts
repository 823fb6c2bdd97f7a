// Node's server takes few large bodies at a time, and keeps no answers that nobody reads.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createTurns } from '../../functions/host/node/large-bodies.ts'
import { boundUnread } from '../../functions/host/node/unread.ts'

test('large bodies are handed over in turns, and a small one waits for none', async () => {
  const inTurn = createTurns({ largeBytes: 100, perTurn: 2 })
  const handed: string[] = []
  const come = (name: string, bytes: number) => inTurn(bytes, () => void handed.push(name))
  for (const name of ['a', 'b', 'c', 'd', 'e']) come(name, 101)
  come('small', 100)
  expect(handed).toEqual(['small'])
  const turns = [handed.length]
  while (handed.length < 6) {
    await new Promise(setImmediate)
    turns.push(handed.length)
  }
  expect(turns).toEqual([1, 3, 5, 6])
  expect(handed.slice(1)).toEqual(['a', 'b', 'c', 'd', 'e'])
})

test('answers that nobody reads end their connections, and others go on', async () => {
  const answer = 'x'.repeat(9_000_000)
  const listener: RequestListener = (request, response) =>
    void response.end(request.url === '/large' ? answer : 'small')
  const server = createServer(boundUnread(listener, { bytes: 20_000_000, lookMs: 20 }))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const ask = (path: string) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.pause()
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    onTestFinished(() => void socket.destroy())
    return socket
  }
  let ended = 0
  server.on('connection', (socket) => socket.once('close', () => (ended += 1)))
  // each has less than half of the limit, so one may stay
  for (let i = 0; i < 10; i++) ask('/large')
  await vi.waitFor(() => expect(ended).toBeGreaterThan(0), 20_000)
  expect(ended).toBeLessThan(10)
  const small = connect(port, '127.0.0.1')
  await once(small, 'connect')
  small.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  expect(await text(small)).toContain('small')
})
