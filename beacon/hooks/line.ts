// Lines over a socket, for both of its ends.
import { connect, type Socket } from 'node:net'
import { messageOf } from '../../shared/errors.ts'
import { maxLineBytes } from './protocol.ts'

const connectTimeoutMs = 5_000

/** The socket, or a sentence that says why there is none. */
export function connected(path: string): Promise<Socket | string> {
  return new Promise((resolve) => {
    const socket = connect(path)
    const fail = (reason: string) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(reason)
    }
    const timer = setTimeout(() => fail(`${path} does not answer`), connectTimeoutMs)
    socket.on('error', (error) => fail(messageOf(error)))
    socket.once('connect', () => {
      clearTimeout(timer)
      resolve(socket)
    })
  })
}

/** Closes the connection if a line is too long. */
export function readLines(socket: Socket, onLine: (line: string) => void): void {
  const decoder = new TextDecoder()
  let rest = ''
  socket.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (!socket.destroyed) onLine(line)
    if (rest.length > maxLineBytes) socket.destroy()
  })
}
