// Lines over a socket, for both of its ends.
import { statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { messageOf } from '../../shared/errors.ts'
import { maxLineBytes } from './protocol.ts'

const connectTimeoutMs = 5_000

/** The socket, or a sentence that says why there is none. */
export async function connected(path: string): Promise<Socket | string> {
  const obstacle = obstacleTo(path)
  if (obstacle !== undefined) return obstacle
  const { connect } = process.getBuiltinModule('node:net')
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

/**
 * Why nobody can answer there. Most VMs have no hooks, so the beacon loads node:net only if there is
 * a socket. A pipe of Windows is no file.
 */
function obstacleTo(path: string): string | undefined {
  try {
    if (process.platform !== 'win32') statSync(path)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
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
