// Queries of Azure Resource Graph: the events of subscriptions, as Azure publishes them, and their VMs and
// sets. An identity may send 15 queries in 5 s. Those for people and those for rules get five each: approvals
// need the list of events.
import * as z from 'zod'
import { FoghornError } from '../../shared/errors.ts'
import type { Published } from '../core/event/published.ts'
import { toPublished } from '../schema/azure-event.ts'
import type { Asker, Machine, ResourceGraph } from '../use-cases/relay.ts'
import { type Answer, type ArmRequest, isFine } from './request.ts'

const path = ['providers', 'Microsoft.ResourceGraph', 'resources']
const version = '2022-10-01'
const maxPages = 20
/** An answer may be this much behind what Event Grid has sent, so it counts as this old. */
const lagMs = 2 * 60_000
/** Several readers share an answer. A rule may need a VM that was created a moment ago. */
const keptMs = { approvals: 1_000, rules: 10_000, people: 60_000 }
/** A failure is shared, too. */
const failedMs = 5_000
/** The relay sends at most one query for people and one query for rules in this time. */
const everyMs = 1_000
/** This is longer than Azure's own window of 5 s, so what an answer asks for beyond it is no quota. */
const longestWaitMs = 10_000

const machinesQuery =
  "resources | where type in~ ('microsoft.compute/virtualmachines', " +
  "'microsoft.compute/virtualmachinescalesets', 'microsoft.compute/availabilitysets') | project " +
  'id, name, type, resourceGroup, subscriptionId, tags, set = properties.virtualMachineScaleSet.id, ' +
  'availabilitySet = properties.availabilitySet.id, ' +
  'inner = properties.virtualMachineProfile.scheduledEventsPolicy, policy = properties.scheduledEventsPolicy'

/** Azure's own limit of a page. */
const maxRows = 1_000
const pageSchema = z.object({
  data: z.array(z.unknown()).max(maxRows),
  $skipToken: z.string().optional(),
})
const eventSchema = z.object({ id: z.string(), properties: z.unknown() })

const readableSchema = z.object({ subscriptionId: z.string().toLowerCase() })

const policySchema = z
  .object({
    scheduledEventsAdditionalPublishingTargets: z.object({
      eventGridAndResourceGraph: z.object({ enable: z.boolean() }),
    }),
  })
  .optional()
  .catch(undefined)

const machineTypes = {
  'microsoft.compute/virtualmachines': 'virtualMachines',
  'microsoft.compute/virtualmachinescalesets': 'virtualMachineScaleSets',
  'microsoft.compute/availabilitysets': 'availabilitySets',
} as const

const machineSchema = z
  .object({
    name: z.string(),
    type: z.string().transform((type) => type.toLowerCase() as keyof typeof machineTypes),
    resourceGroup: z.string(),
    subscriptionId: z.string(),
    // a rule must not take tags that nobody can read for none
    tags: z.record(z.string(), z.string()).nullish(),
    set: z.string().nullish(),
    availabilitySet: z.string().nullish(),
    inner: policySchema,
    policy: policySchema,
  })
  .transform(
    ({ type, subscriptionId, tags, set, availabilitySet, inner, policy, ...rest }): Machine => {
      const targets = (inner ?? policy)?.scheduledEventsAdditionalPublishingTargets
      return {
        ...rest,
        type: machineTypes[type],
        subscriptionId: subscriptionId.toLowerCase(),
        tags: tags ?? {},
        scaleSet: set?.split('/').at(-1) ?? '',
        availabilitySet: availabilitySet?.split('/').at(-1) ?? '',
        publishes: targets?.eventGridAndResourceGraph.enable === true,
      }
    },
  )

/** Whose query it is. One lane never takes the turn of another. */
type Lane = keyof typeof keptMs

interface Query<One> {
  query: string
  /** Undefined for a row that is not one. `now`: when its page came. */
  parse(row: unknown, now: number): One | undefined
}

const events: Query<Published> = {
  query:
    "maintenanceresources | where type =~ 'microsoft.maintenance/scheduledevents' | project id, properties",
  parse(row, now) {
    const { data } = eventSchema.safeParse(row)
    return data && toPublished('Azure Resource Graph', data, now - lagMs)
  },
}

const machines: Query<Machine> = {
  query: machinesQuery,
  parse: (row) => machineSchema.safeParse(row).data,
}

const readable: Query<string> = {
  query:
    "resourcecontainers | where type =~ 'microsoft.resources/subscriptions' | project subscriptionId",
  parse: (row) => readableSchema.safeParse(row).data?.subscriptionId,
}

interface Options {
  request: ArmRequest
  now: () => number
  wait: (ms: number) => Promise<void>
}

export function createResourceGraph({ request, now, wait }: Options): ResourceGraph {
  /** The quota is used up until then. */
  let freeAt = 0
  /** When the next query may be sent. Approvals wait for the quota alone. */
  const turnAt: Record<Asker, number> = { rules: 0, people: 0 }
  const kept = new Map<string, { at: number; until: number; rows: Promise<unknown> }>()

  /** A time farther ahead than any that is set is from before the clock was set back. */
  const near = (at: number) => (at > now() + longestWaitMs + everyMs ? 0 : at)

  const takeTurn = async (lane: Lane): Promise<void> => {
    const turn = lane === 'approvals' ? 0 : Math.max(near(turnAt[lane]), now())
    const at = Math.max(near(freeAt), turn)
    if (at - now() > longestWaitMs) {
      throw failure(`many queries for ${lane} wait already; the next ones go in a few seconds`)
    }
    if (lane !== 'approvals') turnAt[lane] = turn + everyMs
    if (at > now()) await wait(at - now())
  }

  const readPages = async <One>(lane: Lane, subscriptions: string[], asked: Query<One>) => {
    const found: One[] = []
    let skipToken: string | undefined
    for (let pages = 0; pages < maxPages; pages++) {
      await takeTurn(lane)
      const options = skipToken && { options: { $skipToken: skipToken } }
      const body = { subscriptions, query: asked.query, ...options }
      const answer = await request('POST', path, version, body)
      freeAt = freeFrom(answer, now())
      const page = pageIn(answer)
      found.push(...page.data.flatMap((row) => asList(asked.parse(row, now()))))
      skipToken = page.$skipToken
      if (skipToken === undefined) break
    }
    return found
  }

  /** What was asked a moment ago is not asked again. */
  const read = <One>(lane: Lane, subscriptions: string[], asked: Query<One>): Promise<One[]> => {
    const key = JSON.stringify([lane, subscriptions, asked.query])
    const at = now()
    for (const [other, { at: since, until }] of kept) {
      if (at < since || until <= at) kept.delete(other)
    }
    const known = kept.get(key) as { rows: Promise<One[]> } | undefined
    if (known !== undefined) return known.rows
    const rows = readPages(lane, subscriptions, asked)
    kept.set(key, { at, until: at + keptMs[lane], rows })
    // many events may ask for what cannot be read
    rows.catch(() => {
      const last = kept.get(key)?.rows ?? rows
      if (last === rows) kept.set(key, { at, until: now() + failedMs, rows })
    })
    return rows
  }

  return {
    listEvents: (subscriptions) => read('approvals', subscriptions, events),
    listReadable: (subscriptions) => read('people', subscriptions, readable),
    listMachines: (subscriptions, asker) => read(asker, subscriptions, machines),
  }
}

function pageIn(answer: Answer): z.output<typeof pageSchema> {
  const page = isFine(answer) ? pageSchema.safeParse(answer.body) : undefined
  if (!page?.success) {
    throw failure(readReason(answer), answer.status === 403 ? 'azure_graph_forbidden' : undefined)
  }
  return page.data
}

function asList<Item>(item: Item | undefined): Item[] {
  return item === undefined ? [] : [item]
}

/** `x-ms-user-quota-resets-after` is a duration such as 00:00:05. */
function freeFrom({ header }: Answer, now: number): number {
  if (header('x-ms-user-quota-remaining') !== '0') return 0
  const [h = 0, m = 0, s = 0] = (header('x-ms-user-quota-resets-after') ?? '')
    .split(':')
    .map(Number)
  const ms = (h * 3_600 + m * 60 + s) * 1_000
  return now + (Number.isFinite(ms) ? Math.min(ms, longestWaitMs) : 0)
}

function readReason({ status, code, message }: Answer): string {
  const said = [code, message].filter((text) => text !== '').join(': ')
  return status === 403
    ? `HTTP 403 ${said}; give the identity the role Reader on each subscription: az role assignment create --assignee CLIENT_ID --role Reader --scope /subscriptions/ID`
    : `HTTP ${status}${said && ` ${said}`}`
}

function failure(why: string, code = 'azure_graph_failed'): FoghornError {
  return new FoghornError(code, `Azure Resource Graph: ${why}`)
}
