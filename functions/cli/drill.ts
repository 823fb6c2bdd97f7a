// `npm run drill`: starts a drill on a running relay and prints its progress until it is over. It
// never decides the event: people test the link in a message with it.
import { setTimeout as sleep } from 'node:timers/promises'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import type { PublicEvent } from '../core/event/public-view.ts'
import { exitCodes, wrong } from './arguments.ts'
import { askRelay } from './ask-relay.ts'
import { type DrillArguments, drillHelp, inOptions, readDrillArguments } from './drill-arguments.ts'
import { beginning, isOver, newsOf, resultOf, type Shown } from './drill-course.ts'
import { reportFailure } from './failure.ts'
import { listed, wrap } from './layout.ts'
import { adminKeyOf, relayUrl } from './relay-address.ts'

const requestMs = 15_000
const lookEveryMs = 1_000
/** How long to wait for the last messages after the drill's last possible end. */
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
  reportFailure(error)
}

async function drill({ request, config }: DrillArguments): Promise<number> {
  const adminKey = adminKeyOf(process.env.FOGHORN_ADMIN_KEY)
  const relay = { url: relayUrl(config), adminKey }
  const begun = await begin(relay, request)
  for (const line of beginning(begun, relay.url)) print(wrap(line, '', '  ').join('\n'))
  const last = await follow(relay, begun)
  const { summary, wrong: faults } = resultOf(last)
  for (const line of wrap(`Drill: ${summary}`)) print(line)
  for (const line of listed(faults)) print(line)
  return faults.length === 0 ? exitCodes.fine : exitCodes.broken
}

async function begin(
  relay: RelayAddress,
  request: object,
): Promise<PublicEvent & { endsBy: string }> {
  const response = await ask(relay, '/v1/drills', request)
  if (response.status !== 201) throw await refusal(relay, response)
  return (await response.json()) as PublicEvent & { endsBy: string }
}

/** Looks until no message is pending or the time is over. If the relay does not answer, retries. */
async function follow(
  relay: RelayAddress,
  { fleet, eventId, firstSeenAt, endsBy }: PublicEvent & { endsBy: string },
): Promise<Shown> {
  // only spans: the relay's clock may differ from this one
  const limitMs = Date.parse(endsBy) - Date.parse(firstSeenAt) + patienceMs
  const beganAt = performance.now()
  let last: Shown | undefined
  let isAway = false
  while (performance.now() - beganAt < limitMs) {
    const path = `/v1/events/${encodeURIComponent(fleet)}/${eventId}`
    const looked = await look(relay, path)
    if (typeof looked === 'string') {
      if (!isAway) print(`The relay does not answer. Retrying: ${looked}`)
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
  throw failed(`the relay at ${relay.url} has not answered since the drill ${eventId} started`)
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
    const signal = AbortSignal.timeout(requestMs)
    return await askRelay(url, path, { credential: adminKey, ...(body && { body }), signal })
  } catch (error) {
    throw failed(
      `cannot reach the relay at ${url} (${messageOf(error)}); check that it runs there, or set ` +
        'FOGHORN_URL to its address',
    )
  }
}

async function refusal({ url }: RelayAddress, response: Response): Promise<FoghornError> {
  const { status } = response
  // another server may answer with any body
  const problem = await response.json().catch(() => undefined)
  const { code, detail } = (problem ?? {}) as { code?: string; detail?: string }
  if (code === 'unauthorized') {
    return wrong(
      `the relay at ${url} rejects this FOGHORN_ADMIN_KEY; set the key that the relay was started with`,
    )
  }
  if (detail === undefined || code === 'not_found') {
    return wrong(
      `the server at ${url} (HTTP ${status}) is not a relay, or an old one; set FOGHORN_URL to the ` +
        'address of the relay',
    )
  }
  if (code === 'fleet_unknown') return wrong(`--fleet: ${detail}`)
  if (code === 'drill_malformed') return wrong(inOptions(detail))
  return failed(`the relay refused the drill: ${detail}`)
}

function failed(message: string): FoghornError {
  return new FoghornError('drill_failed', message)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
