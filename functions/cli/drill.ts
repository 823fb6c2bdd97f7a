// `npm run drill`: starts a drill on a running relay, and says what becomes of it until it is over. It
// decides nothing: that the link of a message works is a part of what a drill proves.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { readConfigWith } from '../config/config.ts'
import type { PublicEvent } from '../core/event/public-view.ts'
import { exitCodes, wrong } from './arguments.ts'
import {
  adminKeyOf,
  type DrillArguments,
  drillHelp,
  inOptions,
  readDrillArguments,
  relayUrlOf,
} from './drill-arguments.ts'
import { beginning, isOver, newsOf, resultOf, type Shown } from './drill-course.ts'
import { listed, wrap } from './layout.ts'

const requestMs = 15_000
const lookEveryMs = 1_000
/** After its last possible end: messages may still be under way, and looking takes time. */
const patienceMs = 60_000

interface RelayAddress {
  url: string
  adminKey: string
}

try {
  const given = readDrillArguments(process.argv.slice(2))
  if (given === 'help') print(drillHelp.trimEnd())
  else process.exitCode = await drill(given)
} catch (error) {
  const known = error instanceof FoghornError
  const lines = (known ? error.message : messageOf(error)).split('\n')
  process.stderr.write(`${lines.flatMap((line) => wrap(line)).join('\n')}\n`)
  const isMistake = known && error.code !== 'drill_failed'
  process.exitCode = isMistake ? exitCodes.wrong : exitCodes.broken
}

async function drill({ wish, config }: DrillArguments): Promise<number> {
  const adminKey = adminKeyOf(process.env.FOGHORN_ADMIN_KEY)
  const relay = { url: relayUrl(config), adminKey }
  const begun = await begin(relay, wish)
  for (const line of beginning(begun, relay.url)) print(wrap(line, '', '  ').join('\n'))
  const last = await follow(relay, begun)
  const { summary, wrong: faults } = resultOf(last)
  for (const line of wrap(`Drill: ${summary}`)) print(line)
  for (const line of listed(faults)) print(line)
  return faults.length === 0 ? exitCodes.fine : exitCodes.broken
}

function relayUrl(file: string | undefined): string {
  const { FOGHORN_URL: url, FOGHORN_CONFIG } = process.env
  if (url && file === undefined) return relayUrlOf(url, 'FOGHORN_URL')
  const path = file ?? FOGHORN_CONFIG ?? 'foghorn.config.json'
  return relayUrlOf(publicUrlIn(path), `publicUrl in ${path}`)
}

function publicUrlIn(path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const why = messageOf(error)
    throw wrong(`set FOGHORN_URL to where the relay is, or write --config FILE (${why})`)
  }
  try {
    return readConfigWith(text, process.env, 'taken_as_given').config.publicUrl
  } catch (error) {
    if (!(error instanceof FoghornError)) throw error
    throw wrong(`${path} has mistakes; npm run check-config -- ${path} says which`)
  }
}

async function begin(relay: RelayAddress, wish: object): Promise<PublicEvent & { endsBy: string }> {
  const response = await ask(relay, '/v1/drills', wish)
  if (response.status !== 201) throw await refusal(relay, response)
  return (await response.json()) as PublicEvent & { endsBy: string }
}

/** Looks until everything is told, or its time is over; a relay that does not answer is asked again. */
async function follow(
  relay: RelayAddress,
  { fleet, eventId, firstSeenAt, endsBy }: PublicEvent & { endsBy: string },
): Promise<Shown> {
  // spans, as the relay's clock need not be this one's
  const limitMs = Date.parse(endsBy) - Date.parse(firstSeenAt) + patienceMs
  const beganAt = performance.now()
  let last: Shown | undefined
  let isAway = false
  while (performance.now() - beganAt < limitMs) {
    const path = `/v1/events/${encodeURIComponent(fleet)}/${eventId}`
    const looked = await look(relay, path)
    if (typeof looked === 'string') {
      if (!isAway) print(`the relay does not answer, and is asked again: ${looked}`)
      isAway = true
    } else {
      for (const line of newsOf(last, looked, Date.now())) print(line)
      isAway = false
      last = looked
      if (isOver(last)) return last
    }
    await sleep(lookEveryMs)
  }
  if (last !== undefined) return last
  throw failed(`the relay at ${relay.url} has not answered since the drill ${eventId} began`)
}

async function look(relay: RelayAddress, path: string): Promise<Shown | string> {
  try {
    const response = await ask(relay, path)
    return response.status === 200 ? ((await response.json()) as Shown) : `HTTP ${response.status}`
  } catch (error) {
    return messageOf(error)
  }
}

async function ask({ url, adminKey }: RelayAddress, path: string, body?: object) {
  try {
    return await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // the key is for the relay alone
      redirect: 'manual',
      signal: AbortSignal.timeout(requestMs),
    })
  } catch (error) {
    throw failed(
      `the relay at ${url} can't be reached (${messageOf(error)}); is it running there? ` +
        'FOGHORN_URL says where it is',
    )
  }
}

async function refusal({ url }: RelayAddress, response: Response): Promise<FoghornError> {
  const { status } = response
  // what answers need not be a relay, and may say anything
  const problem = await response.json().catch(() => undefined)
  const { code, detail } = (problem ?? {}) as { code?: string; detail?: string }
  if (code === 'unauthorized') {
    return wrong(
      `the relay at ${url} does not take this FOGHORN_ADMIN_KEY; write the one that it was started with`,
    )
  }
  if (detail === undefined || code === 'not_found') {
    return wrong(
      `what answers at ${url} (HTTP ${status}) is no relay that knows drills; write in FOGHORN_URL ` +
        'where the relay is',
    )
  }
  if (code === 'fleet_unknown') return wrong(`--fleet: ${detail}`)
  if (code === 'drill_malformed') return wrong(inOptions(detail))
  return failed(`the relay refuses the drill: ${detail}`)
}

function failed(message: string): FoghornError {
  return new FoghornError('drill_failed', message)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
