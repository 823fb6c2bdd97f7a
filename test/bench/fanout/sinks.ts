// The systems behind subscriptions: HTTP/1.1 by hand, as in the storm's load, because the sinks share
// two cores with what is measured. Each has a port of its own, and so its own connections.
import { createServer, type Server, type Socket } from 'node:net'
import { HOST } from '../../simulator/http.ts'
import { Waiters } from '../../simulator/waiters.ts'

const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'

/** One request as it came, without what a client adds by itself. */
export interface Captured {
  headers: Record<string, string>
  body: string
}

interface Arrival {
  sink: number
  /** `webhook-id`. */
  id: string
  /** By `performance.now()`. */
  at: number
}

export type Sinks = Awaited<ReturnType<typeof startSinks>>

export async function startSinks(count: number) {
  const arrivals: Arrival[] = []
  const captured = new Map<string, Captured>()
  const waiters = new Waiters()
  const sockets = new Set<Socket>()
  let hanging = 0
  let wanted = Number.POSITIVE_INFINITY

  const take = (sink: number, head: string, body: string): boolean => {
    const id = /\r\nwebhook-id: (\S+)/i.exec(head)?.[1] ?? ''
    if (sink < hanging) return false
    arrivals.push({ sink, id, at: performance.now() })
    if (!captured.has(id)) captured.set(id, { headers: headersIn(head), body })
    if (arrivals.length >= wanted) waiters.changed()
    return true
  }
  const serve = (sink: number) => (socket: Socket) => {
    sockets.add(socket.setNoDelay(true).setEncoding('latin1'))
    let text = ''
    socket.on('data', (part) => {
      text += part
      const headEnd = text.indexOf('\r\n\r\n')
      if (headEnd < 0) return
      const end = headEnd + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1])
      if (text.length < end) return
      if (take(sink, text.slice(0, headEnd), text.slice(headEnd + 4, end))) socket.write(answer)
      text = text.slice(end)
    })
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  const servers = Array.from({ length: count }, (_, sink) => createServer(serve(sink)))
  const ports = await Promise.all(servers.map(listen))

  return {
    urls: ports.map((port) => `http://${HOST}:${port}/`),
    captured,

    /** From now on, the `first` sinks read requests and answer none. */
    hang(first: number): void {
      hanging = first
    },

    answering: () => count - hanging,

    /** Forgets what came before. */
    restart(): void {
      arrivals.length = 0
      captured.clear()
    },

    /** Once so many requests have arrived. */
    async arrived(count: number, timeoutMs: number): Promise<Arrival[]> {
      wanted = count
      const describe = () => `${arrivals.length} of ${count} requests arrived`
      await waiters.until(() => arrivals.length >= count || undefined, timeoutMs, describe)
      return arrivals.slice()
    },

    async stop(): Promise<void> {
      for (const socket of sockets) socket.destroy()
      await Promise.all(servers.map((server) => new Promise((done) => server.close(done))))
    },
  }
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, HOST, () => resolve((server.address() as { port: number }).port))
  })
}

const ofTheClient = ['host', 'connection', 'content-length']

function headersIn(head: string): Captured['headers'] {
  const lines = head.split('\r\n').slice(1)
  const pairs = lines.map((line) => line.split(/: (.*)/s, 2) as [string, string])
  return Object.fromEntries(pairs.filter(([name]) => !ofTheClient.includes(name.toLowerCase())))
}
