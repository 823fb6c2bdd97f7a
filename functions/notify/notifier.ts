// What it takes to tell a channel, and what those that do it have in common.

import { parseRetryAfter } from '../../shared/retry.ts'
import type { SendOutcome } from '../core/delivery/attempt.ts'
import type { Claimed, Telling } from '../core/delivery/delivery.ts'
import type { Overtakes } from '../core/delivery/overtake.ts'
import type { Post, PostState } from '../core/delivery/post.ts'
import type { Rate } from '../core/delivery/rate.ts'
import type { Proof } from '../core/event/event.ts'
import { type Message, plain } from '../core/message/message.ts'

/** The part of `fetch` that notifiers use; a host's own guards addresses at connect. */
export type Send = (url: string, init: RequestInit) => Promise<Response>

/** What a message tells of one event. */
export interface Part {
  delivery: Claimed
  message: Message
  /** The event's page, with a token for this channel; absent where the message is about a channel. */
  pageUrl?: string
  /** Present where the message itself decides, by its buttons. */
  buttons?: Buttons
  /** Earlier steps of this event that may have reached the channel. */
  mayHaveHeard: Telling[]
}

/** *Approve* and *Not now* in a message. */
export interface Buttons {
  /** Comes back with a press. */
  value: string
  /** Absent once somebody said so. */
  notNow: boolean
}

/** How the messages of a kind can have such buttons. */
export interface ButtonSupport {
  /** What `approveIn` of a route says to have them, and the proof that comes with a press. */
  how: Proof
  /** What people call the service that they press them in. */
  service: string
  /** What the service takes as a button's value, in characters. */
  maxValueLength: number
  /** Whether the event's next message edits the one with the buttons; else a press replaces it. */
  isEdited: boolean
}

/** What stands in the channel of this epoch of the event, for kinds that edit what they posted. */
export interface PostAccess {
  read(): Promise<Post | undefined>
  /** `conflict`, and nothing written, where what stands there is not version `basedOn` (0: nothing). */
  write(state: PostState, basedOn: number): Promise<'written' | 'conflict'>
}

export interface Outgoing extends Part {
  /** What else the same message tells; empty where the kind's rate says nothing of `together`. */
  also: Part[]
  /** One page for all events of this message; absent for a single one, or where it would be too long. */
  listUrl?: string
  /** Of the event of the message itself; those in `also` have none. */
  posts: PostAccess
  now: number
  /** Aborts the attempt. */
  signal: AbortSignal
}

export interface Notifier<Channel> {
  /** Machines want every step of an event, in order; people only those that still matter. */
  overtakes: Overtakes
  /** What the channel takes; more than that is refused, and may get the sender banned. */
  rate: Rate
  /** What it tells stays open until it is told the end. */
  opensIncidents: boolean
  /** Undefined where a message can only link to the event's page. */
  buttons: ButtonSupport | undefined
  /**
   * Makes one attempt. Throws nothing but what `posts` throws, and never puts the channel's secret into
   * the outcome.
   */
  notify(outgoing: Outgoing, channel: Channel, send: Send): Promise<SendOutcome>
}

const maxAnswerBytes = 4_096

export interface Answer {
  status: number
  /** As far as it came, and was read. */
  text: string
  /** Whether that is all of it; what broke off may have been about to say anything. */
  end: 'read' | 'not_read' | 'broke_off'
  retryAfter: string | null
}

/**
 * Posts one body without following redirects, and reads the answer's beginning: at most 4 KB, unless more is
 * asked for, as an answer is evidence, not data. One whose text breaks off is an answer all the same: the
 * message may have been taken, and must not be sent again as if nobody had answered.
 */
export async function post(
  send: Send,
  url: string,
  body: string,
  headers: NonNullable<RequestInit['headers']>,
  signal: AbortSignal,
  maxBytes = maxAnswerBytes,
): Promise<Answer> {
  const init: RequestInit = { method: 'POST', body, headers, signal, redirect: 'manual' }
  const response = await send(url, init)
  const { status } = response
  return {
    status,
    ...(await readStart(response, maxBytes)),
    retryAfter: response.headers.get('retry-after'),
  }
}

/** Whatever the message: the address is no longer valid, or does not let us in. */
const broken = [401, 403, 404, 410]

/** Of those that blame the sender, these pass: time-out, too early, too many requests. */
const passing = [408, 425, 429]

/**
 * What passes and 5xx are worth another attempt, anything else needs a person. A redirect, or a web page in
 * place of an answer, would meet any message.
 */
export function fromStatus(answer: Answer, now: number): SendOutcome {
  const { status } = answer
  const note = `HTTP ${status}${wordsOf(answer)}`
  if (!passing.includes(status) && status < 500) {
    const isBroken = broken.includes(status) || isRedirect(status) || isWebPage(answer)
    return { outcome: 'refused', note, ...(isBroken && { broken: true }) }
  }
  const retryAfterMs = parseRetryAfter(answer.retryAfter, now)
  return { outcome: 'retry', note, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

/** Of addresses that the guard forbids, or that `fetch` itself does. */
const neverAnswers = ['address_forbidden', 'port_blocked']

/**
 * No answer came; a person has to mend an address that is forbidden. Names of hosts and addresses
 * are kept out: for some channels they are the secret.
 */
export function fromError(error: unknown, signal: AbortSignal): SendOutcome {
  if (signal.aborted) return { outcome: 'retry', note: 'no answer in time' }
  const code = codeOf(error)
  const note = `no answer: ${code}`
  return neverAnswers.includes(code)
    ? { outcome: 'refused', note, broken: true }
    : { outcome: 'retry', note }
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400
}

/** In place of a service's word that it took the message: something in between asks for a sign-in, or the like. */
export function isWebPage({ status, text }: Answer): boolean {
  return isSuccess(status) && /^\s*</.test(text) && pageTags.test(text)
}

const pageTags = /<(!doctype\s+html|html|head|body|meta|script|form)\b/i

/** What the answer says, to follow its status in a note. */
export function wordsOf({ text, end }: Answer): string {
  const words = oneLine(text).split(' ')
  // the last one may be half a secret, which nothing that masks secrets would know
  if (end !== 'read' && !lineBreak.test(text.trim())) words.pop()
  if (end === 'broke_off') words.push('(the text broke off)')
  const shown = words.join(' ')
  return shown === '' ? '' : `: ${shown}`
}

/** The first line of what somebody else wrote, without characters that a terminal or a page would obey. */
export function oneLine(text: string): string {
  return plain(text.trim().split(lineBreak, 1)[0]!).trim()
}

const lineBreak = /[\r\n]/

async function readStart(
  response: Response,
  maxBytes: number,
): Promise<Pick<Answer, 'text' | 'end'>> {
  if (response.body === null) return { text: '', end: 'read' }
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let bytes = 0; bytes < maxBytes; ) {
      const { done, value } = await reader.read()
      if (done) return { text: text + decoder.decode(), end: 'read' }
      bytes += value.length
      text += decoder.decode(value, { stream: true })
    }
    await reader.cancel()
  } catch {
    return { text, end: 'broke_off' }
  }
  return { text: text.slice(0, maxBytes), end: 'not_read' }
}

/** Say nothing; what is behind them may. */
const usualErrors = ['Error', 'TypeError']

/** The first code on the way down to the cause, else the first name that says something. */
function codeOf(error: unknown): string {
  const chain: Error[] = []
  for (let at = error; at instanceof Error && chain.length < 5; at = at.cause) chain.push(at)
  const codes = chain.map((one) => ('code' in one ? one.code : undefined))
  const names = chain.map(({ name }) => name)
  const telling = [...codes, ...names.filter((name) => !usualErrors.includes(name)), ...names]
  return telling.find(isWord) ?? 'unknown'
}

/** No address, and nothing that somebody else wrote. */
function isWord(text: unknown): text is string {
  return typeof text === 'string' && /^\w{1,64}$/.test(text)
}
