// Queries of Azure Resource Graph: the events of subscriptions, as Azure publishes them, and their VMs and
// sets. An identity may send 15 queries in 5 s.
import * as z from 'zod'
import { FoghornError } from '../../shared/errors.ts'
import type { Published } from '../core/event/published.ts'
import { publishedOf } from '../schema/azure-event.ts'
import type { Machine, ResourceGraph } from '../use-cases/relay.ts'
import { type Answer, type ArmRequest, isFine } from './request.ts'

const path = '/providers/Microsoft.ResourceGraph/resources'
const version = '2022-10-01'
/** Of 1,000 rows each. */
const maxPages = 20
/** An answer may be this much behind what Event Grid has sent, so it counts as this old. */
const lagMs = 2 * 60_000
/** Several readers share an answer. */
const keptMs = 1_000

const eventsQuery =
  "maintenanceresources | where type =~ 'microsoft.maintenance/scheduledevents' | project id, properties"
const machinesQuery =
  "resources | where type in~ ('microsoft.compute/virtualmachines', " +
  "'microsoft.compute/virtualmachinescalesets', 'microsoft.compute/availabilitysets') | project " +
  'id, name, type, resourceGroup, subscriptionId, tags, set = properties.virtualMachineScaleSet.id, ' +
  'availabilitySet = properties.availabilitySet.id, ' +
  'inner = properties.virtualMachineProfile.scheduledEventsPolicy, policy = properties.scheduledEventsPolicy'

const pageSchema = z.object({ data: z.array(z.unknown()), $skipToken: z.string().optional() })
const eventSchema = z.object({ id: z.string(), properties: z.unknown() })

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
    tags: z.record(z.string(), z.string()).nullish().catch(undefined),
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

interface Options {
  request: ArmRequest
  now: () => number
}

export function createResourceGraph({ request, now }: Options): ResourceGraph {
  /** The quota is used up until then. */
  let freeAt = 0
  const kept = new Map<string, { at: number; rows: Promise<unknown[]> }>()

  const readPages = async (subscriptions: string[], query: string): Promise<unknown[]> => {
    const rows: unknown[] = []
    let skipToken: string | undefined
    for (let pages = 0; pages < maxPages; pages++) {
      if (now() < freeAt) throw failure('its quota is used up for now')
      const options = skipToken && { options: { $skipToken: skipToken } }
      const answer = await request('POST', path, version, { subscriptions, query, ...options })
      freeAt = freeFrom(answer, now())
      const page = pageIn(answer)
      rows.push(...page.data)
      skipToken = page.$skipToken
      if (skipToken === undefined) break
    }
    return rows
  }

  /** What was asked a moment ago is not asked again. */
  const read = (subscriptions: string[], query: string): Promise<unknown[]> => {
    const key = JSON.stringify([subscriptions, query])
    const known = kept.get(key)
    if (known !== undefined && now() - known.at < keptMs) return known.rows
    const rows = readPages(subscriptions, query)
    kept.set(key, { at: now(), rows })
    rows.catch(() => kept.delete(key))
    return rows
  }

  return {
    async listEvents(subscriptions) {
      const at = now() - lagMs
      const rows = await read(subscriptions, eventsQuery)
      return rows.flatMap((row): Published[] => {
        const { data } = eventSchema.safeParse(row)
        return (data && asList(publishedOf('Azure Resource Graph', data, at))) ?? []
      })
    },
    async listMachines(subscriptions) {
      const rows = await read(subscriptions, machinesQuery)
      return rows.flatMap((row) => asList(machineSchema.safeParse(row).data))
    },
  }
}

function pageIn(answer: Answer): z.output<typeof pageSchema> {
  const page = isFine(answer) ? pageSchema.safeParse(answer.body) : undefined
  if (!page?.success) throw failure(reasonOf(answer))
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
  const seconds = h * 3_600 + m * 60 + s
  return now + (Number.isFinite(seconds) ? seconds : 0) * 1_000
}

function reasonOf({ status, code, message }: Answer): string {
  const said = [code, message].filter((text) => text !== '').join(': ')
  return status === 403
    ? `HTTP 403 ${said}; give the identity the role Reader on the subscription`
    : `HTTP ${status}${said && ` ${said}`}`
}

function failure(why: string): FoghornError {
  return new FoghornError('azure_graph_failed', `Azure Resource Graph: ${why}`)
}
