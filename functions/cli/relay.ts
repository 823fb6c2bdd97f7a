// Where a command finds the running relay, the key that it shows there, and how it asks.
import { readFileSync } from 'node:fs'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { parseJson } from '../../shared/json.ts'
import { withoutPassword } from '../../shared/mask.ts'
import { visible } from '../../shared/presentable.ts'
import { cut } from '../../shared/text.ts'
import { readConfigWith } from '../config/config.ts'
import { keyPattern } from '../core/rules/access.ts'
import { isLoopback, isWebUrl } from '../schema/checks.ts'
import { wrong } from './command.ts'

/** `file` is a configuration. Without it, FOGHORN_URL counts first. */
export function relayUrl(file: string | undefined, environment: NodeJS.ProcessEnv): string {
  const { FOGHORN_URL: url, FOGHORN_CONFIG } = environment
  if (url && file === undefined) return readRelayUrl(url, 'FOGHORN_URL')
  const path = file ?? FOGHORN_CONFIG ?? 'foghorn.config.json'
  return readRelayUrl(publicUrlIn(path, environment), `publicUrl in ${path}`)
}

/** FOGHORN_URL, or the relay of this machine. */
export function localRelayUrl({ FOGHORN_URL: url, PORT }: NodeJS.ProcessEnv): string {
  return readRelayUrl(url || `http://127.0.0.1:${PORT || usualPort}`, url ? 'FOGHORN_URL' : 'PORT')
}

const usualPort = 7071

function publicUrlIn(path: string, environment: NodeJS.ProcessEnv): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const why = messageOf(error)
    throw wrong(`set FOGHORN_URL to the address of the relay, or write --config FILE (${why})`)
  }
  try {
    return readConfigWith(text, environment, 'assumed').config.publicUrl
  } catch (error) {
    if (!(error instanceof FoghornError)) throw error
    throw wrong(`${path} has mistakes; npm run check-config -- ${path} lists them`)
  }
}

/** The relay's address without a slash at its end: https or loopback, as the key goes there. */
export function readRelayUrl(given: string, where: string): string {
  const [place = '', query] = given.split(/[?#]/, 2)
  const shown = withoutPassword(place)
  if (!isWebUrl(place))
    throw wrong(`${where} is "${shown}"; write the https:// address of the relay`)
  // a key may be in it
  if (query !== undefined)
    throw wrong(`${where} has "?" or "#" after "${shown}"; write the address without them`)
  if (given.startsWith('http:') && !isLoopback(given)) {
    throw wrong(`${where} is "${shown}", which would send the key unencrypted; write https://`)
  }
  return given.replace(/\/+$/, '')
}

/** The value is never shown. */
export function readAdminKey(given: string | undefined): string {
  return keyIn(given, 'FOGHORN_ADMIN_KEY', 'the admin key of the relay')
}

/** A token, or else the admin key. */
export function credentialIn({ FOGHORN_TOKEN, FOGHORN_ADMIN_KEY }: NodeJS.ProcessEnv): string {
  if (FOGHORN_ADMIN_KEY && !FOGHORN_TOKEN) return readAdminKey(FOGHORN_ADMIN_KEY)
  return keyIn(FOGHORN_TOKEN, 'FOGHORN_TOKEN', 'a token, or set FOGHORN_ADMIN_KEY to the admin key')
}

function keyIn(given: string | undefined, name: string, what: string): string {
  if (!given) throw wrong(`${name} is not set; set it to ${what}`)
  if (keyPattern.test(given)) return given
  throw wrong(`${name} has characters that a header cannot have; write only the key`)
}

interface Asked {
  credential: string
  /** Sent as JSON. Without it, the request is a GET. */
  body?: object
  method?: 'DELETE'
  accept?: string
  /** An ETag. */
  ifMatch?: string
  /** Default: `answerWithinMs`. */
  signal?: AbortSignal
}

/** To ask about subscriptions, the relay asks Azure several times. */
const answerWithinMs = 60_000

/** Follows no redirect: only the relay may get the key. */
export function askRelay(
  url: string,
  path: string,
  {
    credential,
    body,
    method,
    accept,
    ifMatch,
    signal = AbortSignal.timeout(answerWithinMs),
  }: Asked,
): Promise<Response> {
  const headers = {
    authorization: `Bearer ${credential}`,
    ...(accept && { accept }),
    ...(ifMatch && { 'if-match': ifMatch }),
    ...(body && { 'content-type': 'application/json' }),
  }
  const sent = body && { method: 'POST', body: JSON.stringify(body) }
  return fetch(`${url}${path}`, {
    ...(method && { method }),
    ...sent,
    headers,
    redirect: 'manual',
    signal,
  }).catch((error) => {
    // the command itself gave up
    if (error.name === 'AbortError') throw error
    const { code } = (error.cause ?? {}) as { code?: unknown }
    const why = code === 'ECONNREFUSED' ? 'nothing listens there' : messageOf(error)
    throw new Error(
      `cannot reach the relay at ${url}: ${why}; start it, or set FOGHORN_URL to its address`,
    )
  })
}

/** The error for an answer that a command cannot use: what the relay says, or its status. */
export async function describeRefusal(url: string, answer: Response): Promise<Error> {
  const body = parseJson(await cutBeginning(answer)) as { detail?: unknown } | undefined
  const detail = typeof body?.detail === 'string' ? body.detail : `it answered ${answer.status}`
  const shown = cut(detail, maxDetail).split('\n').map(visible).join('\n')
  return new Error(`The relay at ${url} refused: ${shown}`)
}

/** A new configuration may have many mistakes. */
const maxDetail = 20_000
const maxRefusalBytes = 64 * 1024

async function cutBeginning({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body ?? []) {
    parts.push(part)
    bytes += part.length
    if (bytes >= maxRefusalBytes) break
  }
  return Buffer.concat(parts).toString()
}
