// The load: HTTP/1.1 by hand over a few connections that stay open. The bytes of each request are made
// beforehand, and of an answer only status and length are read: on two cores the load must not be what
// is measured. Every target gets the same.
import { connect, type Socket } from 'node:net'

/** Answers are some hundred bytes; a longer one comes in several parts. */
const readBytes = 16 * 1024

export interface Post {
  bytes: Buffer
  /** Which event it is about. */
  event: number
}

export interface Answered {
  /** From writing the request to having the whole answer, ms. */
  times: number[]
  /** When the first request about each event was written, by `performance.now()`. */
  firstSentAt: Map<number, number>
}

/** One request at a time. */
class Connection {
  readonly #socket: Socket
  #text = ''
  #settle: { resolve: () => void; reject: (error: Error) => void } | undefined

  constructor(port: number) {
    const buffer = Buffer.allocUnsafe(readBytes)
    const callback = (bytes: number) => {
      this.#take(buffer.toString('latin1', 0, bytes))
      return true
    }
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback } })
    this.#socket.on('error', (error) => this.#settle?.reject(error))
    this.#socket.on('close', () => this.#settle?.reject(new Error('the connection was closed')))
  }

  /** Resolves once the answer, a 200, is there in full. */
  post(bytes: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      // a socket that ended while nobody waited says nothing more
      if (this.#socket.destroyed) reject(new Error('the connection was closed before'))
      else this.#socket.write(bytes)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(part: string): void {
    this.#text += part
    const headEnd = this.#text.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#text)?.[1]
    if (this.#text.length < headEnd + 4 + Number(length)) return
    const text = this.#text
    this.#text = ''
    if (length !== undefined && text.startsWith('HTTP/1.1 200 ')) this.#settle?.resolve()
    else this.#settle?.reject(new Error(`not an answer to count:\n${text}`))
  }
}

/** Posts all, in this order, on so many connections at once; the next as soon as one is free. */
export async function postAll(port: number, posts: Post[], connections: number): Promise<Answered> {
  const times: number[] = []
  const firstSentAt = new Map<number, number>()
  let next = 0
  const worker = async (connection: Connection) => {
    while (next < posts.length) {
      const { bytes, event } = posts[next++]!
      const sentAt = performance.now()
      if (!firstSentAt.has(event)) firstSentAt.set(event, sentAt)
      await connection.post(bytes)
      times.push(performance.now() - sentAt)
    }
  }
  const open = Array.from({ length: connections }, () => new Connection(port))
  try {
    await Promise.all(open.map(worker))
  } finally {
    for (const connection of open) connection.close()
  }
  return { times, firstSentAt }
}

/** The bytes of one POST of JSON. */
export function postBytes(
  port: number,
  path: string,
  headers: Record<string, string>,
  body: string,
): Buffer {
  const all = {
    host: `127.0.0.1:${port}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}
