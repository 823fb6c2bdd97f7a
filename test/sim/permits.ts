// Who may decide, worked out anew from the plan: the routes of its configuration, and what its VMs are, not what
// the relay knows of them. The relay may be stricter, as long as it does not know them; never milder.
import type { Decider, EventRecord } from '../../functions/core/event/event.ts'
import type { Plan } from './plan.ts'

type Match = Plan['config']['routes'][number]['match']

interface Vm {
  fleet: string
  name: string
  tags: Record<string, string>
}

export function mayDecide(plan: Plan, record: EventRecord, { how, who }: Decider): boolean {
  const { routes, slackApp } = plan.config
  const name = how === 'link' ? '' : `${how}:${who}`
  const lists = record.facts.resources.map((resource) => {
    const vm = truthOf(plan, record, resource)
    return routes.flatMap(({ match, approvers }) =>
      approvers !== undefined && holds(match, vm) ? [approvers] : [],
    )
  })
  const ofOthers = how === 'slack' && !slackApp?.team.includes(who.split('/')[0]!)
  if (ofOthers && !lists.flat(2).includes(name)) return false
  return lists.every((own) => own.length === 0 || own.flat().includes(name))
}

/**
 * The rule before the one called `name` that does not approve, and holds for the event by the plan.
 * What the relay does not know of the event may be anything.
 */
export function ruleBefore(plan: Plan, record: EventRecord, name: string): string | undefined {
  const { policy } = plan.config
  const { eventType, source, durationSeconds, resources } = record.facts
  const earlier = policy.slice(
    0,
    policy.findIndex((rule) => rule.name === name),
  )
  const found = earlier.find(({ decide, match }) => {
    const { eventType: types, source: sources, maxDurationSeconds: most, ...ofVm } = match
    const isOfEvent =
      (types?.includes(eventType) ?? true) &&
      (source === undefined || (sources?.includes(source) ?? true)) &&
      (most === undefined ||
        durationSeconds === undefined ||
        (durationSeconds >= 0 && durationSeconds <= most))
    const isOfVm = () => resources.some((vm) => holds(ofVm, truthOf(plan, record, vm)))
    return decide !== 'approve' && isOfEvent && isOfVm()
  })
  return found?.name
}

/** A drill pretends what its VMs are. */
function truthOf({ vms, drills }: Plan, { fleet, eventId, drill }: EventRecord, name: string): Vm {
  const wish = drills.find(({ id }) => eventId.endsWith(id))?.wish as Partial<Vm> | undefined
  if (drill) return { fleet, name, tags: wish?.tags ?? {} }
  return vms.find((vm) => vm.fleet === fleet && vm.name === name) ?? { fleet, name, tags: {} }
}

/** As far as plans go: tags by name and value, names by how they end. */
function holds({ tag, resource, ...rest }: Match, { name, tags }: Vm): boolean {
  const others = Object.values(rest).filter((condition) => condition !== undefined)
  if (others.length > 0) throw new Error(`the judge cannot read ${JSON.stringify(rest)}`)
  const tagged = Object.entries(tags).map(([key, value]) => `${key}=${value}`)
  return (
    (tag?.some((one) => tagged.includes(one)) ?? true) &&
    (resource?.some((one) => name.endsWith(one.replace('*', ''))) ?? true)
  )
}
