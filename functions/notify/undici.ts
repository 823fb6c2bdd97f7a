// Sends for hosts on Node, with undici. It checks each address at connect: a channel cannot reach a
// private, local or reserved address, unless the configuration allows the network. `fetch` would take
// three times as long for a message.

import { subscribe } from 'node:diagnostics_channel'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import { constants, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib'
import { Agent, type Dispatcher, EnvHttpProxyAgent, fetch as fetchBy } from 'undici'
import { giveAddressesTime } from '../../shared/addresses.ts'
import { FoghornError } from '../../shared/errors.ts'
import { hasBlockedPort, portRefusal, whyForbidden } from '../core/rules/address.ts'
import { ciphers } from './ciphers.ts'
import type { Send } from './notifier.ts'
import { createResolve, type Resolve } from './resolve.ts'
import { createSmtpSend } from './smtp.ts'

/** A relay sends this many requests at once. With fewer, a channel would wait for others of its origin. */
const connectionsPerOrigin = 2_048

/** The way out of a network without another one. For https only: plain http is for allowed networks. */
export interface ForwardProxy {
  url: string
  /** Hosts that are reached without it, by commas or blanks. */
  except: string
}

export interface Outbound {
  send: Send
  /** Fetches from addresses that only the owner chooses: nothing is checked. */
  fetch(url: string, init: RequestInit): Promise<Response>
  close(): Promise<void>
}

/** Behind a proxy, the proxy resolves names, and decides which addresses they may have. */
export function createOutbound(
  allowNetworks: string[],
  {
    resolve = createResolve(),
    proxy,
  }: { resolve?: Resolve; proxy?: ForwardProxy | undefined } = {},
): Outbound {
  giveAddressesTime()
  endFloods()
  const judge = addressJudge(allowNetworks)
  const agents = {
    'https:': agentFor(judge, false, resolve, proxy),
    'http:': agentFor(judge, true, resolve),
  }
  const unguarded = proxy && new EnvHttpProxyAgent({ ...buildOptions(proxy), allowH2: false })
  const targets = new Map<string, Target>()
  const readTarget = (url: string): Target => {
    const known = targets.get(url)
    if (known !== undefined) return known
    const target = judged(url, judge)
    if (targets.size >= maxTargets) targets.clear()
    targets.set(url, target)
    return target
  }
  const closed = new AbortController()
  const sendMail = createSmtpSend(judge, (plain) => guardedLookup(judge, plain, resolve))
  return {
    async send(url, init) {
      if (/^smtps?:/.test(url)) {
        const signal = AbortSignal.any([closed.signal, ...(init.signal ? [init.signal] : [])])
        return sendMail(url, { ...init, signal })
      }
      const { method, headers, body, signal } = init
      const { origin, path, plain } = readTarget(url)
      // it follows no redirect, which would bypass the check of literal addresses above
      const answer = await agents[plain ? 'http:' : 'https:']
        .request({
          origin,
          path,
          method,
          headers: { ...ownHeaders, ...headers },
          body: body ?? null,
          signal: signal ?? null,
        })
        .catch(rethrown)
      return received(answer)
    },
    async fetch(url, init) {
      if (unguarded === undefined) return fetch(url, init)
      const answer = await fetchBy(url, { ...(init as object), dispatcher: unguarded })
      return answer as unknown as Response
    },
    async close() {
      closed.abort()
      const all = [...Object.values(agents), ...(unguarded === undefined ? [] : [unguarded])]
      await Promise.all(all.map((agent) => agent.destroy()))
    },
  }
}

function received({ statusCode: status, headers, body }: Dispatcher.ResponseData) {
  const get = (name: string) => [headers[name] ?? null].flat()[0] ?? null
  if (get('content-length') === '0') {
    // otherwise it would listen to the signal until that aborts
    body.resume()
    return { status, headers: { get }, body: null }
  }
  const unpack = unpackers[get('content-encoding')?.trim().toLowerCase() ?? '']
  return { status, headers: { get }, body: unpack === undefined ? body : unpacked(body, unpack) }
}

type Unpack = (packed: Buffer) => Buffer

/** A longer output takes a millisecond of the thread, and hundreds of answers may come at once. */
const maxOutputLength = 128 * 1024
const ofDeflate = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength }
/**
 * Unpackers by content-encoding: some services compress although nobody asked, and some send deflate
 * without its head. Brotli is not here, as 172 bytes of it may take 8 ms of the thread.
 */
const unpackers: Partial<Record<string, Unpack>> = {
  gzip: (packed) => gunzipSync(packed, ofDeflate),
  'x-gzip': (packed) => gunzipSync(packed, ofDeflate),
  deflate: (packed) =>
    (packed[0]! & 0x0f) === 8 ? inflateSync(packed, ofDeflate) : inflateRawSync(packed, ofDeflate),
}

/** Unpacks a body in one step: each piece by itself would cost a turn. What cannot be unpacked is no text. */
async function* unpacked(
  body: AsyncIterable<Uint8Array>,
  unpack: Unpack,
): AsyncGenerator<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  const packed = Buffer.concat(pieces)
  if (packed.length > 0) yield unpack(packed)
}

const ownHeaders = { accept: '*/*', 'user-agent': 'foghorn' }

/** Addresses that are remembered: enough for all stored channels, and for many channels. */
const maxTargets = 1_100

interface Target {
  origin: string
  path: string
  plain: boolean
}

/** Judges what the address itself shows; what its name resolves to is judged at each connect. */
function judged(url: string, judge: Judge): Target {
  const { protocol, hostname, origin, pathname, search } = new URL(url)
  const plain = protocol === 'http:'
  const literal = hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0) judge(literal, plain)
  if (hasBlockedPort(url)) throw new FoghornError('port_blocked', portRefusal)
  return { origin, path: pathname + search, plain }
}

type Judge = (address: string, plain: boolean) => void

/** Throws FoghornError `address_forbidden`. Only allowed networks can use plain http. */
export function addressJudge(allowNetworks: string[]): Judge {
  return (address, plain) => {
    const why = whyForbidden(address, plain, allowNetworks)
    if (why !== undefined) throw new FoghornError('address_forbidden', `${address}: ${why}`)
  }
}

function describeRefusal(judge: Judge, address: string, plain: boolean): Error | undefined {
  try {
    judge(address, plain)
    return undefined
  } catch (error) {
    return error as Error
  }
}

function noAddress(hostname: string): Error {
  return Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' })
}

/** Finds only addresses that the relay may connect to. */
function guardedLookup(judge: Judge, plain: boolean, resolve: Resolve): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, '', 4)
      const refusals = addresses.map(({ address }) => describeRefusal(judge, address, plain))
      // a name may also have addresses that only its own network can reach
      const allowed = addresses.filter((_, i) => refusals[i] === undefined)
      const first = allowed[0]
      if (first === undefined) return done(refusals[0] ?? noAddress(hostname), '', 4)
      return options.all ? done(null, allowed) : done(null, first.address, first.family)
    })
  }
}

function agentFor(judge: Judge, plain: boolean, resolve: Resolve, proxy?: ForwardProxy) {
  const lookup = guardedLookup(judge, plain, resolve)
  const connect = { lookup, ciphers }
  const options = { connections: connectionsPerOrigin, connect, allowH2: false }
  return proxy === undefined
    ? new Agent(options)
    : new EnvHttpProxyAgent({ ...options, requestTls: { ciphers }, ...buildOptions(proxy) })
}

/** Bytes of one answer, also what no reader of the body sees. Beside that, a service may repeat the message twice. */
const maxAnswerBytes = 64 * 1024
/** Bytes of an answer of Azure itself, which the relay reads by `fetch`. */
const maxFetchedBytes = 17 * 1024 * 1024
/** Each piece of an answer costs time, however short. So many may come, and one more for each 256 bytes. */
const maxPieces = 1_000
const pieceBytes = 256
/** Servers send two tickets with a handshake. Each costs time, and their bytes are not counted. */
const maxTickets = 16
const byFetch = /^user-agent: (node|undici)\r$/m
let isWatching = false

/**
 * Ends connections whose other side answers without end: by headers, by answers before the answer, by parts of the
 * framing, in pieces of one byte, by tickets of TLS. For all connections of this process, as undici shows each request
 * that it sends. Of HTTP/2, nobody would see the frames, so no agent offers it.
 */
function endFloods(): void {
  if (isWatching) return
  isWatching = true
  /** How many bytes may have been read, and how many pieces may still come. */
  const limits = new WeakMap<Socket, { bytes: number; pieces: number }>()
  subscribe('undici:client:sendHeaders', (message) => {
    const { socket, headers } = message as { socket: Socket; headers: string }
    const sentBytes = Number(/^content-length: (\d+)\r$/m.exec(headers)?.[1] ?? 0)
    const most = byFetch.test(headers) ? maxFetchedBytes : maxAnswerBytes + 2 * sentBytes
    const isKnown = limits.has(socket)
    limits.set(socket, { bytes: socket.bytesRead + most, pieces: maxPieces + most / pieceBytes })
    if (isKnown) return
    // before the listener that parses
    socket.prependListener('readable', () => {
      const limit = limits.get(socket)!
      limit.pieces -= 1
      if (socket.bytesRead > limit.bytes || limit.pieces < 0) socket.destroy(answerTooLarge())
    })
    let tickets = 0
    socket.on('session', () => {
      tickets += 1
      if (tickets > maxTickets) socket.destroy(answerTooLarge())
    })
  })
}

function answerTooLarge(): Error {
  return Object.assign(new Error('the answer is too large'), { code: 'ANSWER_TOO_LARGE' })
}

/** Nothing of the environment counts beside them. */
function buildOptions({ url, except }: ForwardProxy) {
  return { httpProxy: '', httpsProxy: url, noProxy: except }
}

/** undici says only in words what a proxy answered, and that an answer has a status that nobody asked for. */
function rethrown(error: unknown): never {
  const said = error instanceof Error ? error.message : ''
  if (
    /^bad (response|upgrade)$/.test(said) ||
    (error as { code?: string }).code === 'ERR_ASSERTION'
  ) {
    throw Object.assign(new Error('the answer is none', { cause: error }), {
      code: 'NO_ANSWER_OF_HTTP',
    })
  }
  const status = /^Proxy response \((\d+)\)/.exec(said)?.[1]
  if (status === undefined) throw error
  const why = `HTTPS_PROXY opens no connection to this address (it answered ${status})`
  throw new FoghornError(`proxy_answered_${status}`, why, { cause: error })
}
