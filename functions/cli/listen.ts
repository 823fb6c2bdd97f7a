// `npm run listen`: follows the relay's stream of moments and prints it. If the connection ends, it goes
// on from the last cursor. A host that cannot hold a connection is polled.
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { visible } from '../../shared/presentable.ts'
import { secretBytes, sign } from '../../shared/signature.ts'
import { wrong } from './arguments.ts'
import { askRelay } from './ask-relay.ts'
import { reportFailure } from './failure.ts'
import { type ListenArguments, listenHelp, readListenArguments } from './listen-arguments.ts'
import { credentialIn, relayUrl } from './relay-address.ts'
import { serverSent } from './server-sent.ts'

const retryMs = 2_000
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
  }),
})
const pollSchema = z.object({ events: z.array(z.unknown()), next: z.string() })

interface Listening {
  given: ListenArguments
  url: string
  credential: string
  /** Signs what is forwarded. */
  secret: string
  cursor: string | undefined
}

try {
  const given = readListenArguments(process.argv.slice(2))
  if (given === 'help') print(listenHelp.trimEnd())
  else await listen(given)
} catch (error) {
  reportFailure(error)
}

/** Until the process is ended, or the relay rejects the request. */
async function listen(given: ListenArguments): Promise<void> {
  const credential = credentialIn(process.env)
  const listening: Listening = {
    given,
    credential,
    url: relayUrl(given.config),
    cursor: given.all ? '0' : undefined,
    secret: secretOf(process.env.FOGHORN_WEBHOOK_SECRET, given),
  }
  note(`Listening to ${listening.url}. Ctrl+C ends it.`)
  let holds = true
  for (;;) {
    try {
      const answer = holds ? await follow(listening) : await poll(listening)
      if (answer === 'stream_unsupported') holds = false
    } catch (error) {
      if (error instanceof FoghornError) throw error
      note(`The connection ended. Retrying: ${messageOf(error)}`)
      await sleep(retryMs)
    }
  }
}

async function follow(listening: Listening): Promise<'ended' | 'stream_unsupported'> {
  const quiet = new AbortController()
  const timer = setTimeout(() => quiet.abort(new Error('the relay sends nothing')), quietMs)
  try {
    const response = await ask(listening, {}, quiet.signal)
    if (response.status === 406) return 'stream_unsupported'
    await refuseBad(listening, response)
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

async function poll(listening: Listening): Promise<'ended'> {
  const wait = { wait: String(waitSeconds) }
  const response = await ask(listening, wait, AbortSignal.timeout(quietMs))
  await refuseBad(listening, response)
  const { events, next } = pollSchema.parse(await response.json())
  for (const one of events) await show(listening, JSON.stringify(one))
  listening.cursor = next
  return 'ended'
}

function ask({ url, credential, given, cursor }: Listening, more: object, signal: AbortSignal) {
  const query = new URLSearchParams([...given.query, ...Object.entries(more)])
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

async function show({ given, secret }: Listening, text: string): Promise<void> {
  const event = cloudEventSchema.parse(JSON.parse(text))
  print(given.json ? text : lineOf(event))
  if (given.forward === undefined) return
  const answer = await forward(given.forward, secret, event.id, text)
  note(`  forwarded: ${answer}`)
}

function lineOf({ time, data }: z.output<typeof cloudEventSchema>): string {
  const { fleet, moment, eventType, resources, notBefore, eventId, drill } = data
  const what = `${drill ? 'DRILL ' : ''}${eventType} of ${resources.join(', ')}`
  const due = notBefore === undefined ? '' : `, not before ${notBefore}`
  // a beacon may report any name, and a terminal obeys control characters
  return visible(`${time} ${fleet} ${moment}: ${what}${due} (${eventId})`)
}

/** One attempt: a developer sees the answer and can begin again with --all. */
async function forward(url: string, secret: string, id: string, body: string): Promise<string> {
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

function secretOf(given: string | undefined, { forward }: ListenArguments): string {
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

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Apart from the moments, so that they can go into a pipe. */
function note(line: string): void {
  process.stderr.write(`${line}\n`)
}
