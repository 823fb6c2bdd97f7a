// Starts a drill: an event of the relay's own, with the owner's policy, routes and real channels.
// It is one atomic write. After that the sweep moves it on, as it does any event.
import * as z from 'zod'
import { eventTypes, limits } from '../../shared/document.ts'
import { decideDrill } from '../core/event/decide.ts'
import { type DrillWish, drillId } from '../core/event/drill.ts'
import { type EventRecord, isOpen } from '../core/event/event.ts'
import { maxOpenDrills } from '../core/limits.ts'
import { listChoices, object } from '../schema/checks.ts'
import { commitEvent } from './commit-event.ts'
import { buildContext, type Relay } from './relay.ts'

export const maxNoticeSeconds = 3_600
export const maxImpactSeconds = 600
const usualNoticeSeconds = 120
const usualImpactSeconds = 10
const maxResources = 10
const maxTags = 50
/** Open drills are looked for among this many of a fleet's newest events. */
const recentEvents = 200

const name = z.string().max(limits.name)
const seconds = (least: number, most: number) => {
  const rule = `write a whole number of seconds from ${least} to ${most}`
  return z.int(rule).min(least, rule).max(most, rule)
}

const wishSchema = object({
  fleet: z.string(),
  type: listChoices(eventTypes),
  resources: z.array(name.min(1)).min(1).max(maxResources).default(['drill-vm']),
  noticeSeconds: seconds(0, maxNoticeSeconds).default(usualNoticeSeconds),
  impactSeconds: seconds(1, maxImpactSeconds).default(usualImpactSeconds),
  changeAfterSeconds: seconds(1, maxNoticeSeconds).optional(),
  source: listChoices(['Platform', 'User']).default('Platform'),
  durationSeconds: seconds(-1, 86_400).default(-1),
  description: z.string().max(limits.text).default('A drill, started by an owner of this relay.'),
  resourceGroup: name.optional(),
  scaleSet: name.optional(),
  tags: z
    .record(z.string().max(512), z.string().max(512))
    .refine((tags) => Object.keys(tags).length <= maxTags, `write at most ${maxTags} tags`)
    .meta({ maxProperties: maxTags })
    .optional(),
})

/** Checks the body of an owner's request and turns it into the core's `DrillWish`. */
export const drillSchema = wishSchema
  .refine((wish) => (wish.changeAfterSeconds ?? -1) < wish.noticeSeconds, {
    path: ['changeAfterSeconds'],
    error: 'write less than noticeSeconds: an event cannot change after it started',
  })
  .transform((wish): DrillWish => {
    const { fleet, type: eventType, noticeSeconds, impactSeconds, changeAfterSeconds } = wish
    const { resources, source, durationSeconds, description } = wish
    const facts = { eventType, resources, source, durationSeconds, description }
    return { fleet, facts, noticeSeconds, impactSeconds, changeAfterSeconds, vms: listVms(wish) }
  })

/** Without facts about the VMs, they count as VMs whose beacon never reported. */
function listVms({ resources, resourceGroup, scaleSet, tags }: z.output<typeof wishSchema>) {
  if ([resourceGroup, scaleSet, tags].every((one) => one === undefined)) return []
  const known = { resourceGroup: resourceGroup ?? '', scaleSet: scaleSet ?? '', tags: tags ?? {} }
  return resources.map((vm) => ({ vm, ...known }))
}

type DrillStarted =
  | { outcome: 'started'; record: EventRecord }
  | { outcome: 'too_many'; open: EventRecord[] }
  | { outcome: 'conflict' }

/** Commits a drill with its messages. `id` must be new, and the fleet must be configured. */
export async function startDrill(relay: Relay, wish: DrillWish, id: string): Promise<DrillStarted> {
  // two requests at the same moment may exceed the limit by one, which does no harm
  const open = await openDrills(relay, wish.fleet)
  if (open.length >= maxOpenDrills) return { outcome: 'too_many', open }
  const key = { fleet: wish.fleet, eventId: drillId(id) }
  const committed = await commitEvent(relay, key, {
    decide: (before, now) => decideDrill(before, wish, id, buildContext(relay), now),
    log: { event: 'drill_started' },
  })
  if (committed.outcome !== 'committed') return { outcome: 'conflict' }
  return { outcome: 'started', record: committed.record! }
}

async function openDrills(relay: Relay, fleet: string): Promise<EventRecord[]> {
  const events = await relay.store.listEvents({ fleets: [fleet], limit: recentEvents })
  return events.filter((record) => record.drill && isOpen(record))
}
