// The socket of the runner. Its mode lets root, the user of the runner and its group connect. On
// Windows, only administrators and the same user can connect.
import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import type { Server, Socket } from 'node:net'
import { dirname } from 'node:path'
import { describeIssues, FoghornError, messageOf } from '../../shared/errors.ts'
import { parseJson } from '../../shared/json.ts'
import type { Log } from '../../shared/log.ts'
import { connected, questionSchema, readLines } from './protocol.ts'
import type { Runner } from './runner.ts'

/** The beacon, and a person who runs `check`. */
const maxConnections = 8
const folderMode = 0o750
const socketMode = 0o660
/** If a client leaves more of the answers unread, the runner closes the connection. */
const maxUnreadBytes = 1024 * 1024

/**
 * Resolves to its `close`. Throws FoghornError `hook_runner_in_use` if another runner answers there, as two
 * would run two hooks at once; `hook_socket_unusable` if there can be no socket.
 */
export async function serveRunner(
  path: string,
  runner: Runner,
  log: Log,
): Promise<() => Promise<void>> {
  const sockets = new Set<Socket>()
  const { createServer } = process.getBuiltinModule('node:net')
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    converse(socket, runner, log)
  })
  server.maxConnections = maxConnections
  await listening(server, path)
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
}

async function assertFree(path: string): Promise<void> {
  const socket = await connected(path)
  if (typeof socket === 'string') return
  socket.destroy()
  throw new FoghornError(
    'hook_runner_in_use',
    `another runner of hooks answers at ${path}: stop that one (the service foghorn-hooks, or a beacon with --with-hooks)`,
  )
}

/** If two runners start at the same moment, the system lets only one of them listen. */
async function listening(server: Server, path: string): Promise<void> {
  const isPipe = process.platform === 'win32'
  try {
    if (!isPipe) mkdirSync(dirname(path), { recursive: true, mode: folderMode })
    await listen(server, path).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error
      await assertFree(path)
      // Nobody answers there, so it is left over. Anything else than a socket stays.
      if (isPipe || !lstatSync(path, { throwIfNoEntry: false })?.isSocket()) throw error
      rmSync(path)
      await listen(server, path)
    })
    if (!isPipe) chmodSync(path, socketMode)
  } catch (error) {
    server.close()
    if (error instanceof FoghornError) throw error
    throw new FoghornError(
      'hook_socket_unusable',
      `the runner cannot listen at ${path} (${messageOf(error)}): set FOGHORN_HOOK_SOCKET to a path that this user may write to`,
    )
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
}

function converse(socket: Socket, runner: Runner, log: Log): void {
  let heard = 0
  const answer = () => {
    if (socket.writableLength > maxUnreadBytes) socket.destroy()
    if (socket.writable) socket.write(`${JSON.stringify({ heard, status: runner.status() })}\n`)
  }
  const unlisten = runner.listen(answer)
  socket.on('close', unlisten)
  socket.on('error', () => socket.destroy())
  readLines(socket, (line) => {
    const value = parseJson(line)
    const question = questionSchema.safeParse(value)
    heard += 1
    if (!question.success) {
      const reason = describeIssues(question.error, value).join('; ')
      log.warn('hook_question_refused', { reason })
      socket.destroy()
      return
    }
    if (question.data.ask === 'run') runner.run(question.data.order)
    if (question.data.ask === 'over') runner.over(question.data.run)
    answer()
  })
}
