// `npm run listen`: follows the relay's stream of moments and prints it. If the connection ends, it goes
// on from the last cursor. A host that cannot hold a connection is polled.

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { documentedTypes } from '../../../shared/document.ts'
import { FoghornError, messageOf } from '../../../shared/errors.ts'
import { withoutPassword } from '../../../shared/mask.ts'
import { escapeUnseen, visible } from '../../../shared/presentable.ts'
import { secretBytes, sign } from '../../../shared/signature.ts'
import {
  command,
  describeType,
  flag,
  type Given,
  type Io,
  text,
  texts,
  wrong,
} from '../../cli/command.ts'
import { askRelay, credentialIn, relayUrl } from '../../cli/relay.ts'
import { moments } from '../../core/event/moment.ts'
import { isLoopback, isWebUrl } from '../../schema/checks.ts'
import { didYouMean } from '../../schema/suggest.ts'
import { serverSent } from './cli-events.ts'

/** Doubles with each attempt in vain, up to `longestMs`. */
const retryMs = 2_000
const longestMs = 15_000
const waitSeconds = 25
/** The relay sends a heartbeat every 15 s. */
const quietMs = 60_000
const forwardMs = 15_000

/** What this command reads of a CloudEvent. */
const cloudEventSchema = z.looseObject({
  id: z.string(),
  time: z.string(),
  data: z.looseObject({
    fleet: z.string(),
    eventId: z.string(),
    moment: z.string(),
    eventType: z.string(),
    resources: z.array(z.string()),
    notBefore: z.string().optional(),
    drill: z.boolean().optional(),
    phase: z.string().optional(),
  }),
})
const pollSchema = z.object({ events: z.array(z.unknown()), next: z.string() })

const options = {
  json: flag,
  fleet: texts,
  type: texts,
  moment: texts,
  resource: text,
  all: flag,
  ids: flag,
  forward: text,
  config: text,
} as const

export const listenToEvents = command({
  usage: '[options]',
  about: `
Prints every step of every event as it happens. With --forward, it also sends each step to a program
on your own machine, as a signed webhook.

  --fleet NAME      only this fleet; may be repeated, as may --type and --moment
  --type TYPE       only ${documentedTypes.join(', ')}
  --moment MOMENT   only these steps: ${moments.slice(0, 6).join(', ')},
                    ${moments.slice(6).join(', ')}
  --resource GLOB   only events of VMs with such names: web_*
  --all             begin with all steps that the relay still has, not with the next one
  --forward URL     send each step here: http:// on this machine, or https://
  --ids             print the id of each event, too
  --json            print the CloudEvents, one a line
  --config FILE     take the relay's address from publicUrl in FILE

Environment: FOGHORN_TOKEN is a token with the scope "read" (or FOGHORN_ADMIN_KEY the admin key).
FOGHORN_URL is the relay's address. Without it and --config, the address is publicUrl in
FOGHORN_CONFIG or foghorn.config.json. FOGHORN_WEBHOOK_SECRET ("whsec_" and base64) signs what is
forwarded. Without it, the command makes a secret and prints it.

Example:
  npm run listen -- --fleet prod --forward http://localhost:3000/webhooks`,
  options,
  async run({ options: given, io }) {
    const { environment } = io
    const { forward, json = false, all = false, ids = false } = given
    const listening: Listening = {
      io,
      json,
      ids,
      query: buildQuery(given),
      forward: readForward(forward),
      url: relayUrl(given.config, environment),
      credential: credentialIn(environment),
      cursor: all ? '0' : undefined,
      secret: readForwardSecret(environment.FOGHORN_WEBHOOK_SECRET, forward, io),
    }
    return follow(listening)
  },
})

/** Builds the query for the relay, which checks the rest. */
export function buildQuery({
  fleet = [],
  type = [],
  moment = [],
  resource,
}: Given<typeof options>['options']): URLSearchParams {
  const query = new URLSearchParams()
  for (const name of fleet) query.append('fleet', name)
  for (const name of type) query.append('type', describeType(name))
  for (const name of moment) query.append('moment', readStreamMoment(name))
  if (resource !== undefined) query.set('resource', resource)
  return query
}

function readStreamMoment(wanted: string): string {
  if (moments.some((moment) => moment === wanted)) return wanted
  const known = moments.join(', ')
  throw wrong(`--moment: there is no "${wanted}"; write ${known}${didYouMean(wanted, moments)}`)
}

/** Steps name VMs, so they leave this machine encrypted only. */
function readForward(url: string | undefined): string | undefined {
  if (url === undefined) return undefined
  if (isWebUrl(url) && (url.startsWith('https:') || isLoopback(url))) return url
  throw wrong(
    `--forward is "${withoutPassword(url)}"; write http://localhost:PORT/PATH, or an https:// address`,
  )
}

interface Listening {
  io: Io
  query: URLSearchParams
  forward: string | undefined
  json: boolean
  ids: boolean
  url: string
  credential: string
  /** The secret that signs what is forwarded. */
  secret: string
  cursor: string | undefined
}

/** Follows until the process is ended, or the relay rejects the request. */
async function follow(listening: Listening): Promise<never> {
  const { io, url } = listening
  io.note(`Connecting to ${url}. Ctrl+C ends it.`)
  let holds = true
  let tries = 0
  const connected = () => {
    if (tries !== 0 || !isConnected) io.note('Connected.')
    tries = 0
    isConnected = true
  }
  let isConnected = false
  for (;;) {
    try {
      const answer = await (holds ? hold(listening, connected) : poll(listening, connected))
      if (answer === 'stream_unsupported') holds = false
    } catch (error) {
      if (error instanceof FoghornError) throw error
      const waitMs = Math.min(longestMs, retryMs * 2 ** tries)
      tries++
      const what = isConnected && tries === 1 ? 'The connection ended' : `Cannot reach ${url}`
      io.note(`${what} (next try in ${waitMs / 1_000} s): ${messageOf(error)}`)
      await sleep(waitMs)
    }
  }
}

async function hold(
  listening: Listening,
  connected: () => void,
): Promise<'ended' | 'stream_unsupported'> {
  const quiet = new AbortController()
  const timer = setTimeout(() => quiet.abort(new Error('the relay sends nothing')), quietMs)
  try {
    const response = await ask(listening, {}, quiet.signal)
    if (response.status === 406) return 'stream_unsupported'
    await refuseBad(listening, response)
    connected()
    for await (const { id, data } of serverSent(response.body!)) {
      timer.refresh()
      if (data !== undefined) await show(listening, data)
      listening.cursor = id ?? listening.cursor
    }
    return 'ended'
  } finally {
    clearTimeout(timer)
  }
}

async function poll(listening: Listening, connected: () => void): Promise<'ended'> {
  const wait = { wait: String(waitSeconds) }
  const response = await ask(listening, wait, AbortSignal.timeout(quietMs))
  await refuseBad(listening, response)
  connected()
  const { events, next } = pollSchema.parse(await response.json())
  for (const one of events) await show(listening, JSON.stringify(one))
  listening.cursor = next
  return 'ended'
}

function ask(listening: Listening, more: object, signal: AbortSignal) {
  const { url, credential, cursor } = listening
  const query = new URLSearchParams([...listening.query, ...Object.entries(more)])
  if (cursor !== undefined) query.set('after', cursor)
  const accept = 'text/event-stream, application/json'
  return askRelay(url, `/v1/events/stream?${query}`, { credential, accept, signal })
}

/** 5xx and 429 are worth another attempt. For any other status, the user has to act. */
async function refuseBad({ url }: Listening, response: Response): Promise<void> {
  const { status } = response
  if (status === 200) return
  const { detail } = (await response.json().catch(() => ({}))) as { detail?: string }
  const text = `the relay at ${url} answers HTTP ${status}${detail === undefined ? '' : `: ${detail}`}`
  throw status >= 500 || status === 429 ? new Error(text) : wrong(text)
}

async function show({ json, ids, forward, secret, io }: Listening, text: string): Promise<void> {
  const event = cloudEventSchema.parse(JSON.parse(text))
  io.print(json ? escapeUnseen(text) : composeStreamLine(event, ids))
  if (forward === undefined) return
  // apart from the moments, so that they can go into a pipe
  const answer = await post(forward, secret, event.id, text)
  const hint = answer === 'HTTP 401' ? ' (does the receiver have the secret above?)' : ''
  io.note(`  forwarded: ${answer}${hint}`)
}

/** `20:22:56Z  prod        scheduled   Reboot of web_3  due 20:23:08Z` */
function composeStreamLine(
  { time, data }: z.output<typeof cloudEventSchema>,
  withId: boolean,
): string {
  const { fleet, moment, eventType, resources, notBefore, eventId, drill, phase } = data
  const what = `${drill ? 'DRILL ' : ''}${eventType} of ${resources.join(', ')}`
  const isAhead = notBefore !== undefined && phase === 'scheduled'
  const due = isAhead ? `  due ${describeClock(notBefore, time)}` : ''
  const head = [describeClock(time), fleet.padEnd(fleetWidth), moment.padEnd(momentWidth)].join(
    '  ',
  )
  // a beacon may report any name, and a terminal obeys control characters
  return visible(`${head}  ${what}${due}${withId ? `  ${eventId}` : ''}`)
}

const fleetWidth = 10
const momentWidth = Math.max(...moments.map(({ length }) => length))

/** Writes a time, with its date if that is not the date of `beside`. */
function describeClock(iso: string, beside = iso): string {
  const [date = '', time = ''] = iso.split('T')
  return `${beside.startsWith(date) ? '' : `${date} `}${time.slice(0, 8)}Z`
}

/** One attempt: a developer sees the answer and can begin again with --all. */
async function post(url: string, secret: string, id: string, body: string): Promise<string> {
  try {
    const signature = await sign([secret], id, Date.now(), body)
    const headers = { ...signature, 'content-type': 'application/cloudevents+json' }
    const signal = AbortSignal.timeout(forwardMs)
    const init = { method: 'POST', headers, body, signal, redirect: 'manual' } as const
    const response = await fetch(url, init)
    await response.body?.cancel()
    return `HTTP ${response.status}`
  } catch (error) {
    return messageOf(error)
  }
}

function readForwardSecret(
  given: string | undefined,
  forward: string | undefined,
  { note }: Io,
): string {
  if (given) {
    try {
      secretBytes(given)
    } catch {
      throw wrong(
        'FOGHORN_WEBHOOK_SECRET is not valid; write "whsec_" and the base64 of 24 to 64 bytes',
      )
    }
    return given
  }
  const made = `whsec_${randomBytes(32).toString('base64')}`
  if (forward !== undefined) note(`The secret that signs what is forwarded: ${made}`)
  return made
}
