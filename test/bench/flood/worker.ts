// A thread that floods the relay until it is told to stop: many connections, each with one request after the
// other. Of an answer it reads all, unless it is a slow reader.
import { connect, type Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

export interface Flood {
  port: number
  connections: number
  /** Whole requests, as bytes. Each is sent in turn. */
  requests: string[]
  /** Reads one answer slowly: 1 kB a second. */
  isSlow: boolean
}

const { port, connections, requests, isSlow } = workerData as Flood
let isStopped = false
let answered = 0
let sent = 0

function next(): string {
  return requests[sent++ % requests.length]!
}

/** One request on a connection of its own. */
function ask(): Promise<void> {
  return new Promise((resolve) => {
    const socket: Socket = connect({ port, host: '127.0.0.1' })
    socket.on('connect', () => socket.write(next()))
    socket.on('error', () => {})
    socket.on('close', () => resolve())
    socket.once('data', () => {
      answered += 1
    })
    if (isSlow) readSlowly(socket)
    else socket.on('data', () => {})
  })
}

function readSlowly(socket: Socket): void {
  socket.on('data', () => {
    socket.pause()
    setTimeout(() => socket.resume(), 1_000)
  })
}

parentPort!.on('message', () => {
  parentPort!.postMessage(answered)
  isStopped = true
  process.exit(0)
})

for (let i = 0; i < connections; i++) {
  void (async () => {
    while (!isStopped) await ask()
  })()
}
