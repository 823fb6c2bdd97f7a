// One HTTP exchange over node:http or node:https, with a limit on everything: time to connect, time
// to answer, size of the answer. The global `fetch` would use 25 MB more memory on every VM.
import http from 'node:http'
import https from 'node:https'
import { messageOf } from '../shared/errors.ts'

export interface Exchange {
  agent: http.Agent
  url: URL
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string
  /** For the whole exchange. */
  timeoutMs: number
  /** For the connection alone, if shorter. */
  connectTimeoutMs?: number
  maxBytes: number
  signal: AbortSignal
}

export type Exchanged =
  | { kind: 'answered'; status: number; headers: http.IncomingHttpHeaders; text: string }
  /** `stale`: the other side had closed a kept connection, so sending again may work. */
  | { kind: 'unanswered'; reason: string; stale: boolean }

/** Never rejects, never follows a redirect. */
export function exchange(asked: Exchange): Promise<Exchanged> {
  return new Promise((resolve) => {
    const { request } = asked.url.protocol === 'https:' ? https : http
    const { agent, method, headers, timeoutMs } = asked
    const sent = request(asked.url, { agent, method, headers })
    let ended = false
    const end = (outcome: Exchanged) => {
      ended = true
      clearTimeout(timer)
      clearTimeout(connectTimer)
      asked.signal.removeEventListener('abort', stop)
      resolve(outcome)
    }
    const giveUp = (reason: string, stale = false) => {
      if (ended) return
      end({ kind: 'unanswered', reason, stale })
      sent.destroy()
    }
    const stop = () => giveUp('the beacon is stopping')
    const timer = setTimeout(() => giveUp(`no answer within ${timeoutMs / 1000} s`), timeoutMs)
    const connectMs = asked.connectTimeoutMs ?? timeoutMs
    const connectTimer = setTimeout(
      () => giveUp(`no connection in ${connectMs / 1000} s`),
      connectMs,
    )
    sent.on('socket', (socket) => {
      if (!socket.connecting) clearTimeout(connectTimer)
      else socket.once('connect', () => clearTimeout(connectTimer))
    })
    sent.on('error', (error) => giveUp(messageOf(error), sent.reusedSocket && isReset(error)))
    sent.on('close', () => giveUp('the connection closed before the answer was complete'))
    sent.on('response', (response) => {
      readText(response, asked.maxBytes, giveUp, (text) => {
        end({
          kind: 'answered',
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
        })
      })
    })
    asked.signal.addEventListener('abort', stop)
    if (asked.signal.aborted) return stop()
    sent.end(asked.body)
  })
}

function readText(
  response: http.IncomingMessage,
  maxBytes: number,
  giveUp: (reason: string) => void,
  done: (text: string) => void,
): void {
  const chunks: Buffer[] = []
  let bytes = 0
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) return giveUp(`the answer is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  })
  response.on('error', (error) => giveUp(messageOf(error)))
  // TextDecoder drops a byte order mark, which JSON.parse would refuse
  response.on('end', () => done(new TextDecoder().decode(Buffer.concat(chunks))))
}

function isReset(error: Error): boolean {
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}
