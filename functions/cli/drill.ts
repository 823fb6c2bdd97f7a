// `npm run drill`: starts a drill on a running relay and prints its progress until it is over. It
// never decides the event: people test the link in a message with it.

import { setTimeout as sleep } from 'node:timers/promises'
import { eventTypes } from '../../shared/document.ts'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { visible } from '../../shared/presentable.ts'
import type { PublicEvent } from '../core/event/public-view.ts'
import {
  command,
  describeType,
  exitCodes,
  type Given,
  type Io,
  parseSeconds,
  tagsIn,
  text,
  texts,
  wrong,
} from './command.ts'
import { beginning, describeResult, isOver, listNews, type Shown } from './drill-progress.ts'
import { listed, wrap } from './layout.ts'
import { askRelay, readAdminKey, relayUrl } from './relay.ts'

const lookEveryMs = 1_000
/** How long to wait for the last messages after the drill's last possible end. */
const patienceMs = 60_000

interface RelayAddress {
  url: string
  adminKey: string
  io: Io
}

const options = {
  fleet: text,
  type: text,
  resource: texts,
  notice: text,
  impact: text,
  'change-after': text,
  source: text,
  duration: text,
  description: text,
  tag: texts,
  'scale-set': text,
  'resource-group': text,
  config: text,
} as const

export const drill = command({
  usage: '--fleet NAME --type TYPE [options]',
  about: `
Sends a test event, marked as a drill, through the policy, the routes and the real channels until
it is completed. No VM is affected: an approval is stored and announced, but sent to no beacon.
PagerDuty calls the on-call engineer as for a real event. The drill's end resolves the incident.

  --fleet NAME     a fleet of the relay's configuration
  --type TYPE      Freeze, Reboot, Redeploy, Preempt or Terminate
  --resource VM    a VM to show as affected (default: drill-vm); several by commas, or repeated
  --notice N       seconds to NotBefore (default: 120, at most 3600); 0: it starts without notice
  --impact N       seconds from start to end (default: 10, at most 600)
  --change-after N seconds until NotBefore moves by a minute (default: never)
  --source SOURCE  Platform (default) or User
  --duration N     expected seconds of interruption (default: unknown)
  --description TEXT
  --tag NAME=VALUE, --scale-set NAME, --resource-group NAME
                   what the beacons of these VMs would report; --tag may be repeated
  --config FILE    take the relay's address from publicUrl in FILE

Environment: FOGHORN_ADMIN_KEY is the admin key of the relay, FOGHORN_URL its address. Without
FOGHORN_URL and --config, the address is publicUrl in FOGHORN_CONFIG or foghorn.config.json.

People can decide by the link in the messages. Exit codes: 0 if the drill was completed and every
message was delivered, 2 if an option or a setting is wrong, otherwise 1.

Example:
  npm run drill -- --fleet prod --type Reboot --resource web_3 --tag role=web`,
  options,
  async run({ options: given, io }) {
    const request = buildRequest(given)
    const adminKey = readAdminKey(io.environment.FOGHORN_ADMIN_KEY)
    const relay = { url: relayUrl(given.config, io.environment), adminKey, io }
    const begun = await begin(relay, request)
    for (const line of beginning(begun, relay.url)) io.print(wrap(line, '', '  ').join('\n'))
    const last = await follow(relay, begun)
    const { summary, wrong: faults } = describeResult(last)
    const isFine = faults.length === 0
    io.print(io.paint(isFine ? 'ok' : 'mistake', wrap(`Drill: ${summary}`).join('\n')))
    for (const line of listed(faults)) io.print(line)
    return isFine ? exitCodes.fine : exitCodes.broken
  },
})

/** The body of the request. The relay fills in what is missing, and checks the limits. */
export function buildRequest(given: Given<typeof options>['options']) {
  const { fleet, type, resource, source, description } = given
  if (!fleet)
    throw wrong('--fleet is missing; write --fleet and the name of a fleet in the configuration')
  if (!type) throw wrong(`--type is missing; write --type and one of ${eventTypes.join(', ')}`)
  return {
    fleet,
    type: describeType(type),
    resources: resource?.flatMap((one) => one.split(',').map((part) => part.trim())),
    noticeSeconds: parseSeconds('--notice', given.notice),
    impactSeconds: parseSeconds('--impact', given.impact),
    changeAfterSeconds: parseSeconds('--change-after', given['change-after']),
    source,
    durationSeconds: parseSeconds('--duration', given.duration),
    description,
    tags: given.tag && tagsIn(given.tag),
    scaleSet: given['scale-set'],
    resourceGroup: given['resource-group'],
  }
}

/** The option for each key of the request. */
const optionOf: Record<string, string> = {
  resources: '--resource',
  noticeSeconds: '--notice',
  impactSeconds: '--impact',
  changeAfterSeconds: '--change-after',
  durationSeconds: '--duration',
  tags: '--tag',
  scaleSet: '--scale-set',
  resourceGroup: '--resource-group',
  fleet: '--fleet',
  type: '--type',
  source: '--source',
  description: '--description',
}

/** The relay's error, one mistake per line, with options in place of the request's keys. */
export function inOptions(detail: string): string {
  const lines = detail.split('\n').map((line) => line.replace(/^\w+(?=[.[:])/, describeDrill))
  // inside a sentence, a key such as "source" may be a common word
  return lines
    .map((line) => line.replace(/\b[a-z]+(?:Seconds|Set|Group)\b/gi, describeDrill))
    .join('\n')
}

function describeDrill(key: string): string {
  return optionOf[key] ?? key
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
      if (!isAway) relay.io.note(`The relay does not answer. Retrying: ${looked}`)
      isAway = true
    } else {
      for (const line of listNews(last, looked, Date.now())) relay.io.print(line)
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
    return await askRelay(url, path, { credential: adminKey, ...(body && { body }) })
  } catch (error) {
    throw failed(messageOf(error))
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
  return new FoghornError('drill_failed', visible(message))
}
