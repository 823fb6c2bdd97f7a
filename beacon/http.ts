// HTTP exchanges over node:http and node:https.
import type { Agent, IncomingMessage } from 'node:http'
import { giveAddressesTime } from '../shared/addresses.ts'
import { messageOf } from '../shared/errors.ts'
import {
  type Exchange,
  type Exchanged,
  noAnswer,
  noConnection,
  type ProxyEnvironment,
  stopping,
  type Transport,
  tooLarge,
} from './exchange.ts'

/** Azure's NAT drops a connection that was idle for 4 min, and notifies neither side. */
const idleSocketMs = 90_000
/** There are more sockets than requests at once, so a request within the rate limit never waits here. */
const maxSockets = 8

/** Loads the modules only if it is called: the executable does not need them. */
export function createHttpTransport(proxy: ProxyEnvironment): Transport {
  giveAddressesTime()
  const http = process.getBuiltinModule('node:http')
  const https = process.getBuiltinModule('node:https')
  const keeping = { keepAlive: true, timeout: idleSocketMs, maxSockets }
  // Without `proxyEnv` an agent ignores proxy settings. Plain http is for IMDS, which must see the VM
  // itself, and for a relay on this machine.
  const plain = new http.Agent(keeping)
  // explicit, because NODE_TLS_REJECT_UNAUTHORIZED could switch the check off
  const checked = { rejectUnauthorized: true, proxyEnv: asNodeReads(proxy) }
  const secure = new https.Agent({ ...keeping, ...checked })
  return {
    exchange: (asked) =>
      asked.url.protocol === 'https:'
        ? exchange(asked, secure, https.request)
        : exchange(asked, plain, http.request),
    close() {
      plain.destroy()
      secure.destroy()
    },
  }
}

/** Node wants commas, and other programs allow blanks. */
function asNodeReads({ NO_PROXY, ...proxy }: ProxyEnvironment) {
  const hosts = NO_PROXY?.split(/[\s,]+/).filter((host) => host !== '')
  return hosts === undefined ? proxy : { ...proxy, NO_PROXY: hosts.join(',') }
}

function exchange(
  asked: Exchange,
  agent: Agent,
  request: typeof import('node:http').request,
): Promise<Exchanged> {
  return new Promise((resolve) => {
    const { method, headers, timeoutMs } = asked
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
    const stop = () => giveUp(stopping)
    const timer = setTimeout(() => giveUp(noAnswer(timeoutMs)), timeoutMs)
    const connectMs = asked.connectTimeoutMs ?? timeoutMs
    const connectTimer = setTimeout(() => giveUp(noConnection(connectMs)), connectMs)
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
  response: IncomingMessage,
  maxBytes: number,
  giveUp: (reason: string) => void,
  done: (text: string) => void,
): void {
  const chunks: Buffer[] = []
  let bytes = 0
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) return giveUp(tooLarge(maxBytes))
    chunks.push(chunk)
  })
  response.on('error', (error) => giveUp(messageOf(error)))
  // TextDecoder drops a byte order mark, which JSON.parse would refuse
  response.on('end', () => done(new TextDecoder().decode(Buffer.concat(chunks))))
}

function isReset(error: Error): boolean {
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}
