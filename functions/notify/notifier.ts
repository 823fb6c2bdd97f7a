// The interface of a notifier, which sends to one kind of channel, and what notifiers share.

import { FoghornError } from '../../shared/errors.ts'
import { parseRetryAfter } from '../../shared/retry.ts'
import type { Hmac } from '../../shared/signature.ts'
import type { SendOutcome } from '../core/delivery/attempt.ts'
import type { ChatMessage, ChatMessageState } from '../core/delivery/chat-message.ts'
import type { Claimed, Delivery } from '../core/delivery/delivery.ts'
import type { Takes } from '../core/delivery/overtake.ts'
import type { Rate } from '../core/delivery/rate.ts'
import type { Proof } from '../core/event/proof.ts'
import { plain } from '../core/message/phrases.ts'
import type { Message } from '../core/message/shape.ts'
import type { Channel, Config } from '../core/rules/config.ts'

interface Init {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS'
  redirect: 'manual'
  headers?: Record<string, string>
  body?: string
  signal?: AbortSignal
}

/** The part of a `Response` that notifiers read. */
interface Received {
  status: number
  headers: { get(name: string): string | null }
  body: AsyncIterable<Uint8Array> | null
}

/** Follows no redirect. The host checks addresses at connect. */
export type Send = (url: string, init: Init) => Promise<Received>

/** The part of a message about one event. */
export interface Part {
  delivery: Claimed
  message: Message
  /** The event's page, with a token for this channel. Absent if the message is an alert. */
  pageUrl?: string
  /** Addresses of the event that decide nothing. Absent if the message is about no event. */
  links?: { page?: string; api: string }
  /** Present if the message has buttons that decide. */
  buttons?: Buttons
  /** Earlier steps of this event, or messages of this alert, that may have reached the channel. */
  mayHaveHeard: Delivery['notification'][]
}

/** *Approve* and *Not now* in a message. */
export interface Buttons {
  /** The service sends it back with a press. */
  value: string
  /** False after somebody chose *Not now*: the button is left out. */
  notNow: boolean
}

/** How the messages of a kind can have such buttons. */
export interface ButtonSupport {
  /** The value of a route's `approveIn`: the kind of the service's channels, as an owner writes it. */
  approveIn: string
  /** The proof of identity that a press has. */
  how: Proof
  /** The name of the service, for people. */
  service: string
  /** The longest value of a button, in characters. */
  maxValueLength: number
  /** The workspaces or tenants whose people may press a button in this channel. */
  listHomes(channel: Channel, config: Config): readonly string[]
  /** The event's next message edits the one with the buttons. If false, a press replaces it. */
  isEdited: boolean
}

/** The message about this epoch of the event in the channel, for kinds that edit their messages. */
export interface ChatMessageAccess {
  read(): Promise<ChatMessage | undefined>
  /** `conflict`: the stored version is not `basedOn` (0: none), so nothing was written. */
  write(state: ChatMessageState, basedOn: number): Promise<'written' | 'conflict'>
}

/** Tokens of the identity that the relay has in Azure. */
export interface AzureTokens {
  /** The client id of that identity, if the configuration names it. */
  clientId?: string
  /**
   * Reads a token for a service, such as `https://management.azure.com`. Throws FoghornError
   * `azure_token_missing`.
   */
  read(resource: string): Promise<string>
  /** The last token was refused: the next read asks for another one. */
  drop(resource: string): void
}

export interface Outgoing extends Part {
  /** Further events in the same message, if the kind's rate allows several `together`. */
  also: Part[]
  /** One page for all events of this message. Absent for a single event, or if it is too long. */
  listUrl?: string
  /** The one about the event of the message itself. Events in `also` have none. */
  chatMessage: ChatMessageAccess
  /** Where outsiders reach the relay. */
  publicUrl: string
  /** Signs webhooks, and requests to Azure's mail service. */
  hmac: Hmac
  azureTokens: AzureTokens
  now: number
  /** Resolves after this time. */
  wait(ms: number): Promise<void>
  /** Aborts the attempt. */
  signal: AbortSignal
}

/** For a message that cannot change and is read later than it is sent: its titles count down to nothing. */
export function withLastingTitles(outgoing: Outgoing): Outgoing {
  const lasting = <P extends Part>(part: P): P => ({
    ...part,
    message: { ...part.message, title: part.message.lastingTitle },
  })
  return { ...lasting(outgoing), also: outgoing.also.map(lasting) }
}

export interface Notifier<Own> {
  takes: Takes
  /** The limit of the service, which refuses more and may ban the sender. */
  rate: Rate
  /** Undefined if a message can only link to the event's page. */
  buttons: ButtonSupport | undefined
  /**
   * Bytes of the longest link, if a message has only one for all its events. A message then has no more events than
   * such a link can name.
   */
  roomForLink?(channel: Own): number
  /** Makes one attempt. Throws only what `chatMessage` throws. The result contains no secret. */
  notify(outgoing: Outgoing, channel: Own, send: Send): Promise<Notified>
}

/** A notifier with what people call its service. */
export type Named<Own> = Own & { service: string }

/** `reply`: what a subscriber answered, which its owner may read. */
export type Notified = SendOutcome & { reply?: Pick<Answer, 'status' | 'text'> }

/** What an attempt can come to that did not deliver. */
export type Undelivered = Extract<SendOutcome, { outcome: 'retry' | 'refused' }>

const maxAnswerBytes = 4_096

export interface Answer {
  status: number
  /** The part that arrived and was read. */
  text: string
  /** `not_read`: there is more. `broke_off`: the connection ended early. */
  end: 'read' | 'not_read' | 'broke_off'
  retryAfter: string | null
}

/**
 * Posts one body without following redirects, and reads the first `maxBytes` of the answer. An
 * answer whose text breaks off still counts: the service may have accepted the message, so another
 * attempt could repeat it.
 */
export function post(
  send: Send,
  url: string,
  body: string,
  headers: Record<string, string>,
  signal: AbortSignal,
  maxBytes?: number,
): Promise<Answer> {
  return request(send, 'POST', url, { body, headers, signal }, maxBytes)
}

/** Sends a request with any method. Otherwise it works like `post`. */
export async function request(
  send: Send,
  method: Init['method'],
  url: string,
  init: Pick<Init, 'body' | 'headers' | 'signal'>,
  maxBytes = maxAnswerBytes,
): Promise<Answer> {
  const response = await send(url, { ...init, method, redirect: 'manual' })
  const { status } = response
  return {
    status,
    ...(await readStart(response, maxBytes)),
    retryAfter: response.headers.get('retry-after'),
  }
}

/** Every message would fail: the address is no longer valid, or rejects us. */
const broken = [401, 403, 404, 410]

/** These 4xx are temporary: time-out, too early, too many requests. */
const temporary = [408, 425, 429]

/**
 * Temporary statuses and 5xx are worth another attempt. For any other, a person has to act. Every
 * message would also fail if the address answers with a redirect or a web page.
 */
export function fromStatus(answer: Answer, now: number): Undelivered {
  const { status } = answer
  const note = `HTTP ${status}${describeChain(answer)}`
  if (!temporary.includes(status) && status < 500) {
    const isBroken = broken.includes(status) || isRedirect(status) || isWebPage(answer)
    return { outcome: 'refused', note, ...(isBroken && { broken: true }) }
  }
  const retryAfterMs = parseRetryAfter(answer.retryAfter, now)
  return { outcome: 'retry', note, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

/** `AzureTokens` throws this code. The sentence of the error has no secret. */
const tokenMissing = 'azure_token_missing'
/** The code of the error if a mail server's certificate is invalid. */
export const certificateInvalid = 'certificate_invalid'
/** `addressBelow` throws this code if a name in the message cannot be part of an address. */
const pathInvalid = 'path_invalid'
/** A person has to change the address. */
const forbidden = ['address_forbidden', 'port_blocked']

/**
 * The outcome without an answer. It has no host, which may be secret. If the address is forbidden, it
 * has the reason with the remedy.
 */
export function fromError(
  error: unknown,
  { signal, delivery }: { signal: AbortSignal; delivery?: { attempts: number } },
): Undelivered {
  if (signal.aborted) return { outcome: 'retry', note: 'no answer in time' }
  const own = listCauses(error).filter((one) => one instanceof FoghornError)
  const missing = own.find(({ code }) => code === tokenMissing || code === certificateInvalid)
  if (missing !== undefined) return { outcome: 'retry', note: missing.message, unreached: true }
  const invalid = own.find((one) => one.code === pathInvalid)
  if (invalid !== undefined) return { outcome: 'refused', note: invalid.message }
  const refusal = own.find(({ code }) => forbidden.includes(code))
  const code = describeCode(error)
  if (refusal !== undefined) {
    return { outcome: 'refused', note: `no answer: ${code}: ${refusal.message}`, broken: true }
  }
  const note = `no ${unreadable.test(code) ? 'readable ' : ''}answer: ${code}`
  const isRepeated = delivery !== undefined && delivery.attempts > 1
  if (unconnected.test(code)) return { outcome: 'retry', note, unreached: true }
  if (!unreadable.test(code) || !isRepeated) return { outcome: 'retry', note }
  const twice = `${note}; the message may have arrived twice`
  return { outcome: 'refused', note: twice, mayHaveArrived: true }
}

/** There was an answer, which breaks the rules of HTTP or SMTP. The service may have accepted the message. */
const unreadable =
  /^(EMESSAGE|ANSWER_TOO_LARGE|NO_ANSWER_OF_HTTP|HPE_\w+|HTTPParserError|UND_ERR_(HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH))$/

/** There was no connection, so the service has not counted the request. */
const unconnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_\w+|\w*SELF_SIGNED_CERT\w*|UNABLE_TO_\w+|ERR_TLS_CERT_ALTNAME_INVALID)$/

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400
}

/** Whether the answer is a web page, and so not the service's: a proxy asks for a sign-in, for example. */
export function isWebPage({ status, text }: Answer): boolean {
  return isSuccess(status) && /^\s*</.test(text) && pageTags.test(text)
}

const pageTags = /<(!doctype\s+html|html|head|body|meta|script|form)\b/i

/** The answer's text, to follow its status in a note. */
export function describeChain({ text, end }: Answer): string {
  const words = oneLine(text).split(' ')
  // The last word may be half a secret, which the masks would not recognize.
  if (end !== 'read' && !lineBreak.test(text.trim())) words.pop()
  if (end === 'broke_off') words.push('(the text broke off)')
  const shown = words.join(' ')
  return shown === '' ? '' : `: ${shown}`
}

/** The first line of a foreign text, without control characters. A cut is marked, so that masks know half a secret. */
export function oneLine(text: string): string {
  const [first = '', ...rest] = text.trim().split(lineBreak, 2)
  const line = plain(first).trim()
  return rest.length === 0 || line === '' ? line : `${line}…`
}

const lineBreak = /[\r\n]/

/** Reads the first `maxBytes`, and ends the answer there. */
export async function readStart(
  { body }: Pick<Received, 'body'> | Response,
  maxBytes: number,
): Promise<Pick<Answer, 'text' | 'end'>> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  try {
    for await (const part of body ?? []) {
      bytes += part.length
      text += decoder.decode(part, { stream: true })
      if (bytes >= maxBytes) return { text: text.slice(0, maxBytes), end: 'not_read' }
    }
    return { text: text + decoder.decode(), end: 'read' }
  } catch {
    return { text, end: 'broke_off' }
  }
}

/** Names without information. */
const usualErrors = ['Error', 'TypeError']

/** The first code in the chain of causes, or else the first name with information. */
export function describeCode(error: unknown): string {
  const chain = listCauses(error)
  const codes = chain.map((one) => ('code' in one ? one.code : undefined))
  const names = chain.map(({ name }) => name)
  const candidates = [...codes, ...names.filter((name) => !usualErrors.includes(name)), ...names]
  return candidates.find(isWord) ?? 'unknown'
}

/** The error and its causes. */
function listCauses(error: unknown): Error[] {
  const chain: Error[] = []
  for (let at = error; at instanceof Error && chain.length < 5; at = at.cause) chain.push(at)
  return chain
}

/** Excludes addresses and foreign texts. */
function isWord(text: unknown): text is string {
  return typeof text === 'string' && /^\w{1,64}$/.test(text)
}
