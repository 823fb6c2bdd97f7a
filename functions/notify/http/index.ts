// Any service that takes JSON over HTTPS. The owner writes a template of the request, or names a preset,
// which is a template in `presets/`. With `resolve`, the messages of an event become an incident.
import { parseJson } from '../../../shared/json.ts'
import type { SendOutcome } from '../../core/delivery/attempt.ts'
import { byUrgency } from '../../core/message/message.ts'
import { readAddress } from '../../core/rules/address.ts'
import { addressBelow } from '../../core/rules/path.ts'
import { listSteps, type Step, sendSteps } from '../incidents.ts'
import type { Kind } from '../kind.ts'
import {
  type Answer,
  fromError,
  fromStatus,
  isSuccess,
  isWebPage,
  type Notifier,
  type Outgoing,
  type Part,
  post,
  type Send,
} from '../notifier.ts'
import { bytesIn } from './bytes.ts'
import { type Http, type HttpIncidents, httpSchema, type Request, type Template } from './schema.ts'
import { fill, roomForLink } from './template.ts'

const messages: Notifier<Http> = {
  takes: 'newest',
  // Chats take about one message a second; most answer 429 to more. The link of 8 events fits 512 characters.
  rate: { everyMs: 1_000, burst: 2, together: 8, atOnce: 4 },
  buttons: undefined,
  roomForLink: ({ body, limits }) => roomForLink(body, limits),
  notify(outgoing, channel, send) {
    // what a template says of one event, it says of the most urgent one
    const parts = byUrgency([outgoing, ...outgoing.also], ({ message }) => message)
    const [first, ...also] = parts as [Part, ...Part[]]
    const told = withFittingLinks({ ...outgoing, ...first, also }, channel)
    return sendRequest(told, channel, channel, send)
  },
}

/** A link that does not fit makes a service refuse the whole message. */
function withFittingLinks({ listUrl, pageUrl, ...outgoing }: Outgoing, channel: Http): Outgoing {
  const room = roomForLink(channel.body, channel.limits)
  const fits = (url: string | undefined) => url !== undefined && bytesIn(url) <= room
  return {
    ...outgoing,
    ...(fits(pageUrl) && { pageUrl: pageUrl! }),
    ...(fits(listUrl) && { listUrl: listUrl! }),
  }
}

const incidents: Notifier<HttpIncidents> = {
  takes: 'incident',
  rate: { everyMs: 667, burst: 30, together: 1, atOnce: 4 },
  buttons: undefined,
  notify(outgoing, channel, send) {
    const requests = composeRequests(channel)
    const steps = listSteps(outgoing).filter(({ action }) => requests[action] !== undefined)
    return sendSteps(steps, (step) => {
      return sendRequest(outgoing, channel, requests[step.action]!, send, step)
    })
  },
}

export const http: Kind<typeof httpSchema> = {
  name: 'http',
  sites: [
    {
      name: 'Discord',
      host: /(^|\.)discord(app)?\.com$/,
      takes: (kind) => kind === 'http',
      remedy: '"kind": "http" with "preset": "discord"',
    },
  ],
  schema: httpSchema,
  open: [
    ...['preset', 'service', 'body', 'query', 'acknowledge', 'resolve'],
    ...['success', 'retryAfter', 'limits', 'severities', 'replace', 'time', 'timeZone'],
  ],
  placeholders: { settings: (name) => name, headers: (name) => name },
  notifiers: { http: messages, http_incidents: incidents },
}

/** The request of each action. An action without one is not sent. */
export function composeRequests(channel: HttpIncidents) {
  const { acknowledge, resolve } = channel
  return { trigger: channel, ...(acknowledge && { acknowledge }), resolve }
}

/** The request for one message, or for one step of an incident. It contains secrets. */
export function composeRequest(
  outgoing: Outgoing,
  channel: Template,
  { path = '', query, body }: Request,
  step?: Step,
) {
  const filling = { outgoing, dialect: channel, key: step?.key }
  const filled = (text: string) => String(fill(text, filling) ?? '')
  // as text: a URL would write the address in another way, so that masks would not match
  const [place = '', search = ''] = readAddress(channel).split(/\?(.*)/s, 2)
  const added = Object.entries(query).map(
    ([name, text]) => `${encodeURIComponent(name)}=${encodeURIComponent(filled(text))}`,
  )
  const all = [search, ...added].filter(Boolean).join('&')
  const [, parts = '', end = ''] = /^(.*?)(\/?)$/s.exec(path)!
  const at = path === '' ? place : addressBelow(place, parts.split('/').slice(1).map(filled)) + end
  return {
    url: all === '' ? at : `${at}?${all}`,
    headers: { 'content-type': 'application/json', ...channel.headers },
    body: JSON.stringify(fill(body, filling)),
  }
}

async function sendRequest(
  outgoing: Outgoing,
  channel: Template,
  request: Request,
  send: Send,
  step?: Step,
): Promise<SendOutcome> {
  try {
    const { url, headers, body } = composeRequest(outgoing, channel, request, step)
    const answer = await post(send, url, body, headers, outgoing.signal)
    if (isAccepted(answer, channel)) {
      return { outcome: 'delivered', note: step?.action ?? `HTTP ${answer.status}` }
    }
    const seconds = answer.retryAfter ?? secondsIn(answer.text, channel.retryAfter)
    return fromStatus({ ...answer, retryAfter: seconds }, outgoing.now)
  } catch (error) {
    return fromError(error, outgoing)
  }
}

function isAccepted(answer: Answer, { success }: Template): boolean {
  const isExpected = success?.includes(answer.status) ?? isSuccess(answer.status)
  return isExpected && !isWebPage(answer)
}

/** The wait that an answer asks for in its JSON, at `path`, such as `parameters.retry_after`. */
function secondsIn(text: string, path: string | undefined): string | null {
  let value = parseJson(text)
  for (const name of path?.split('.') ?? []) value = Object(value)[name]
  return typeof value === 'number' ? String(value) : null
}
