// Node's server takes few large bodies at a time, and keeps no answers that nobody reads.
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { fewLargeAtOnce } from '../../functions/host/node/large-bodies.ts'
import { boundUnread } from '../../functions/host/node/unread.ts'

describe('large bodies', () => {
  class Request extends EventEmitter {
    isRead = true
    headers: Record<string, string>
    constructor(headers: Record<string, string>) {
      super()
      this.headers = headers
    }
    pause() {
      this.isRead = false
    }
    resume() {
      this.isRead = true
    }
  }
  let come: (request: IncomingMessage) => void
  beforeEach(() => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    come = fewLargeAtOnce({ atOnce: 2, turnMs: 250 })
  })
  const sent = (headers: Record<string, string>) => {
    const request = new Request(headers)
    come(request as unknown as IncomingMessage)
    return request
  }
  const large = () => sent({ 'content-length': '100000' })
  const areRead = (...requests: Request[]) => requests.map(({ isRead }) => isRead)

  test('wait for each other, and a small one for none', async () => {
    const all = [large(), sent({ 'transfer-encoding': 'chunked' }), large(), large()]
    expect(areRead(...all)).toEqual([true, true, false, false])
    expect(sent({ 'content-length': '2000' }).isRead).toBe(true)
    all[0]!.emit('end')
    await vi.advanceTimersByTimeAsync(1)
    expect(areRead(...all.slice(1))).toEqual([true, true, false])
  })

  test('that come slowly wait again while others do', async () => {
    const all = [large(), large(), large(), large()]
    await vi.advanceTimersByTimeAsync(300)
    expect(areRead(...all)).toEqual([false, false, true, true])
    await vi.advanceTimersByTimeAsync(300)
    expect(areRead(...all)).toEqual([true, true, false, false])
  })

  test('that broke off make room, also while they wait', async () => {
    const all = [large(), large(), large(), large()]
    for (const i of [0, 1, 2]) all[i]!.emit('close')
    await vi.advanceTimersByTimeAsync(1)
    expect(all[3]!.isRead).toBe(true)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(all[3]!.isRead).toBe(true)
  })
})

test('answers that nobody reads end their connections, and others go on', async () => {
  const answer = 'x'.repeat(4_000_000)
  const listener: RequestListener = (request, response) =>
    void response.end(request.url === '/large' ? answer : 'small')
  const server = createServer(boundUnread(listener, { bytes: 10_000_000, lookMs: 20 }))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const ask = (path: string, times: number) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.pause()
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(times))
    onTestFinished(() => void socket.destroy())
    return socket
  }
  let ended = 0
  server.on('connection', (socket) => socket.once('close', () => (ended += 1)))
  for (let i = 0; i < 6; i++) ask('/large', 3)
  await vi.waitFor(() => expect(ended).toBeGreaterThan(0), 20_000)
  expect(ended).toBeLessThan(6)
  const small = connect(port, '127.0.0.1')
  await once(small, 'connect')
  small.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  expect(await text(small)).toContain('small')
})
