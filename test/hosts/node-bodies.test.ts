// How Node's server reads bodies: strangers can neither keep the process busy with small pieces nor
// fill its memory with bodies that never end.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { bodiesFirst } from '../../functions/host/node/bodies.ts'

const limits = {
  ...{ bytes: 100, pieces: 20, pieceBytes: 3, unfinishedBytes: 250 },
  ...{ longer: { '/long': 200 }, rest: { bytes: 1_000, ms: 5_000 } },
}
const ended = 'Connection: close\r\n\r\n'

let taken: (string | undefined)[]
let brokenOff: number
let port: number

beforeEach(async () => {
  taken = []
  brokenOff = 0
  const bodies = bodiesFirst(
    {
      take(_request, response, body) {
        taken.push(body?.toString())
        response.end('taken')
      },
      refuse: (response, { status, code }) => {
        response.writeHead(status, { connection: 'close' }).end(code)
      },
      noteBrokenOff: () => {
        brokenOff += 1
      },
    },
    limits,
  )
  const server = createServer(bodies)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  port = (server.address() as AddressInfo).port
})

async function open(head: string): Promise<{ socket: Socket; answer: Promise<string> }> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  onTestFinished(() => void socket.destroy())
  const answer = text(socket).catch(() => 'reset')
  await once(socket, 'connect')
  socket.setNoDelay()
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${head}`)
  return { socket, answer }
}

const chunked = (rest = '\r\n') => open(`Transfer-Encoding: chunked\r\n${rest}`)
const chunk = (part: string) => `${part.length.toString(16)}\r\n${part}\r\n`

test.each([
  ['with a length', `Content-Length: 5\r\n${ended}hello`, 'hello'],
  [
    'in chunks',
    `Transfer-Encoding: chunked\r\n${ended}${chunk('hel')}${chunk('lo')}0\r\n\r\n`,
    'hello',
  ],
  ['that is empty', `Transfer-Encoding: chunked\r\n${ended}0\r\n\r\n`, ''],
  ['without one', ended, undefined],
  ['longer than any route takes, by its length', `Content-Length: 101\r\n${ended}`, undefined],
])('a body %s is handed over once', async (_, head, body) => {
  const { answer } = await open(head)
  expect(await answer).toMatch(/^HTTP\/1\.1 200 .*taken/s)
  expect(taken).toEqual([body])
})

test('a longer body is handed over as soon as it is too long, and the next request works', async () => {
  const { socket, answer } = await chunked()
  socket.write(chunk('a'.repeat(101)))
  await vi.waitFor(() => expect(taken).toHaveLength(1))
  expect(taken[0]!.length).toBeGreaterThan(limits.bytes)
  socket.write(`${chunk('a'.repeat(300))}0\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n${ended}`)
  expect((await answer).match(/200 OK/g)).toHaveLength(2)
})

test('of a longer body, a bounded rest is read', async () => {
  const { socket, answer } = await chunked()
  socket.write(chunk('a'.repeat(101)))
  await vi.waitFor(() => expect(taken).toHaveLength(1))
  socket.write(chunk('a'.repeat(limits.rest.bytes + 1)))
  expect(await answer).toMatch(/taken|reset/)
})

test('a body in many pieces that are not small is taken', async () => {
  const { socket } = await chunked()
  socket.write(chunk('abc').repeat(limits.pieces + 5))
  socket.write('0\r\n\r\n')
  await vi.waitFor(() => expect(taken).toEqual(['abc'.repeat(limits.pieces + 5)]))
})

test('a route that takes more gets it whole, within what may be unfinished', async () => {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  onTestFinished(() => void socket.destroy())
  socket.write(`POST /long HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\n\r\n${'a'.repeat(150)}`)
  const others = await Promise.all(
    [1, 2].map(() => open(`Content-Length: 100\r\n\r\n${'b'.repeat(60)}`)),
  )
  expect(await text(socket).catch(() => 'reset')).toMatch(/^HTTP\/1\.1 503 .*busy/s)
  expect(others.map(({ socket: one }) => one.destroyed)).toEqual([false, false])
})

test('a body in too many pieces is refused, and the connection closed', async () => {
  const { socket, answer } = await chunked()
  socket.write(chunk('a').repeat(limits.pieces + 1))
  expect(await answer).toMatch(/^HTTP\/1\.1 413 .*body_too_large/s)
  expect(taken).toEqual([])
})

test('if bodies that do not end need too much, the one that began first is given up', async () => {
  const [slow, second] = [await chunked(), await chunked()]
  for (const one of [slow, second]) {
    one.socket.write(chunk('a'.repeat(90)))
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const third = await open(`Content-Length: 100\r\n${ended}${'b'.repeat(100)}`)
  expect(await slow.answer).toMatch(/^HTTP\/1\.1 503 .*busy/s)
  expect(await third.answer).toMatch(/taken/)
  second.socket.write('0\r\n\r\n')
  await vi.waitFor(() => expect(taken).toHaveLength(2))
  expect(brokenOff).toBe(1)
})

test('bodies that broke off no longer count', async () => {
  for (let i = 0; i < 5; i++) {
    const { socket } = await chunked()
    socket.write(chunk('a'.repeat(90)))
    await new Promise((resolve) => setTimeout(resolve, 10))
    socket.destroy()
    await vi.waitFor(() => expect(brokenOff).toBe(i + 1))
  }
  const last = await open(`Content-Length: 100\r\n${ended}${'b'.repeat(100)}`)
  expect(await last.answer).toMatch(/taken/)
})

test('a large body is handed over whole, in a later turn, also after it was read', async () => {
  const bodies: number[] = []
  const server = createServer(
    bodiesFirst({
      take(_request, response, body) {
        bodies.push(body?.length ?? 0)
        response.end('taken')
      },
      refuse: (response) => void response.end(),
      noteBrokenOff: () => {},
    }),
  )
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const all = Array.from({ length: 7 }, () =>
    fetch(url, { method: 'POST', body: 'x'.repeat(200_000) }),
  )
  expect(await Promise.all(all.map(async (one) => (await one).text()))).toEqual(
    Array(7).fill('taken'),
  )
  expect(bodies).toEqual(Array(7).fill(200_000))
})
