// The stories of a world: events at a bad time. Each belongs to a kind of fault, and is planned
// with the world. The rest of the world does not depend on them.
import { adviceType } from '../../shared/document.ts'
import type { EventRequest } from '../simulator/requests.ts'
import type { Faults } from './faults.ts'
import type { Alteration, FleetName, PlannedEvent } from './planned.ts'
import type { Random } from './random.ts'

const second = 1_000
const minute = 60 * second

/** When no relay answers: ms after the world began. */
export interface Away {
  fromMs: number
  untilMs: number
  /** The relays run, but no report arrives. */
  isCut?: true
}

interface Troubles {
  away: Away | undefined
  events: PlannedEvent[]
}

type Tenants = Record<FleetName, string[][]>

export function troublesOf(random: Random, tenants: Tenants, faults: Faults): Troubles {
  const events: PlannedEvent[] = []
  let away: Away | undefined
  const luckOf = (kind: keyof Faults) => random.fork(kind)
  const add = (kind: keyof Faults, story: (luck: Random, vms: string[]) => Partial<Story>) => {
    if (faults[kind] === 0) return
    const luck = luckOf(kind)
    const vms = luck.pick(tenants.prod)
    events.push(eventOf(luck, vms, events.length, story(luck, vms)))
  }
  if (faults.relay_away > 0) {
    const luck = luckOf('relay_away')
    const fromMs = luck.int(15, 70) * second
    const planned = { fromMs, untilMs: fromMs + luck.int(90, 210) * second }
    away = planned
    for (const story of [startsWhileAway, whileAway]) {
      const own = luck.fork(story.name)
      events.push(eventOf(own, own.pick(tenants.prod), events.length, story(own, planned)))
    }
  }
  add('imds_lags', (luck) => ({
    request: { noticeSeconds: luck.int(12, 60), impactSeconds: luck.int(5, 30) },
  }))
  add('event_blinks', blinks)
  add('event_overdue', (luck) => ({
    request: { noticeSeconds: luck.int(40, 150), impactSeconds: luck.int(5, 60) },
    overdueMs: luck.int(11, 20) * minute,
  }))
  add('event_revised', revised)
  add('vm_moves', moves)
  if (faults.vm_moves > 0 && away === undefined && luckOf('vm_moves').fork('cut').chance(0.5)) {
    const luck = luckOf('vm_moves').fork('cut')
    const fromMs = luck.int(100, 250) * second
    away = { fromMs, untilMs: fromMs + luck.int(100, 280) * second, isCut: true }
  }
  add('start_ignored', ignored)
  add('beacon_updates', (luck) => ({
    request: { noticeSeconds: luck.int(240, 600) },
    cancelAfterMs: luck.int(40, 100) * second,
    updatesBeacon: true,
  }))
  if (faults.spot_advice > 0) events.push(...advised(luckOf('spot_advice'), tenants))
  if (faults.imds_throttles > 0) events.push(...crowd(luckOf('imds_throttles'), tenants))
  return { away, events }
}

/** What a story fixes about its event. The rest is random. */
interface Story extends Omit<PlannedEvent, 'request'> {
  request: Partial<EventRequest>
}

function eventOf(luck: Random, vms: string[], index: number, story: Partial<Story>): PlannedEvent {
  const hit = luck.int(1, vms.length)
  const first = luck.int(0, vms.length - hit)
  return {
    id: `5ca1ab1e-0000-4000-8${index.toString(16).padStart(3, '0')}-${luck.int(1e11, 9e11)}`,
    fleet: 'prod',
    afterMs: luck.int(20, 90) * second + luck.int(0, 999),
    patches: [],
    cancelAfterMs: undefined,
    approvedElsewhereAfterMs: undefined,
    ...story,
    request: {
      EventType: luck.pick(['Freeze', 'Reboot', 'Redeploy']),
      EventSource: luck.chance(0.2) ? 'User' : 'Platform',
      Resources: vms.slice(first, first + hit),
      DurationInSeconds: luck.pick([-1, -1, 5]),
      noticeSeconds: luck.int(20, 90),
      impactSeconds: luck.int(2, 20),
      ...story.request,
    },
  }
}

/** Announced while no relay answers, and often still running when one answers again. */
function whileAway(luck: Random, { fromMs, untilMs }: Away): Partial<Story> {
  const EventType = luck.pick(['Terminate', 'Terminate', 'Preempt', 'Reboot', 'Freeze'])
  return {
    afterMs: luck.int(fromMs - 5 * second, untilMs - 20 * second),
    request: { EventType, noticeSeconds: luck.int(5, 60), impactSeconds: luck.int(30, 180) },
  }
}

/** Announced and started at once while no relay answers, and still running long after one does. */
function startsWhileAway(luck: Random, { fromMs }: Away): Partial<Story> {
  return {
    afterMs: fromMs + luck.int(-2, 10) * second,
    request: {
      EventType: luck.pick(['Terminate', 'Terminate', 'Preempt', 'Reboot']),
      noticeSeconds: luck.int(4, 20),
      impactSeconds: 280,
    },
  }
}

/** Gone long enough to be reported as cancelled, and back as Started. */
function blinks(luck: Random): Partial<Story> {
  const noticeSeconds = luck.int(25, 60)
  const goneMs = luck.int(12, 16) * second
  const fromMs = noticeSeconds * second - goneMs + luck.int(1, 3) * second
  return {
    request: { noticeSeconds, impactSeconds: luck.int(15, 40) },
    hiddenMs: { from: fromMs, until: fromMs + goneMs },
  }
}

/** Its type, source, duration or VMs change under the same EventId. */
function revised(luck: Random, vms: string[]): Partial<Story> {
  const noticeSeconds = luck.int(30, 120)
  const alterations: Alteration[] = [
    { EventType: luck.pick(['Redeploy', 'Terminate']) },
    { EventType: 'Reboot' },
    { EventSource: 'Platform' },
    { DurationInSeconds: 40 },
    { Resources: vms },
  ]
  const count = luck.int(1, 2)
  return {
    request: {
      EventType: 'Freeze',
      EventSource: luck.pick(['User', 'Platform']),
      DurationInSeconds: luck.pick([5, 30]),
      noticeSeconds,
    },
    alterations: Array.from({ length: count }, () => ({
      afterMs: luck.int(200, 20 * second),
      values: luck.pick(alterations),
    })),
  }
}

/** A VM that it does not hit no longer shows it. It goes on for minutes. */
function moves(luck: Random, vms: string[]): Partial<Story> {
  const hit = vms.slice(0, luck.int(1, Math.max(1, vms.length - 1)))
  const vm = vms.at(-1)!
  const afterMs = luck.int(20, 60) * second
  return {
    afterMs,
    request: { Resources: hit, noticeSeconds: luck.int(200, 420) },
    ...(hit.includes(vm) ? {} : { moves: { vm, afterMs: afterMs + luck.int(5, 60) * second } }),
  }
}

/** Azure answers 200, and the event then has another type or more VMs. */
function ignored(luck: Random, vms: string[]): Partial<Story> {
  const values = luck.pick([{ EventType: 'Redeploy' as const }, { Resources: vms }])
  return {
    request: {
      EventType: luck.pick(['Freeze', 'Reboot']),
      Resources: vms.slice(0, 1),
      noticeSeconds: luck.int(240, 420),
      startDelayMs: 400 * second,
    },
    alterations: [{ afterMs: luck.int(20, 150) * second, values }],
  }
}

/** Azure advises that it may reclaim a Spot VM, and in half of the worlds it does, or wants several. */
function advised(luck: Random, tenants: Tenants): PlannedEvent[] {
  const vms = luck.pick(tenants.prod)
  const resources = luck.chance(0.7) ? [luck.pick(vms)] : vms
  const request = { EventSource: 'Platform' as const, DurationInSeconds: -1, Resources: resources }
  const afterMs = luck.int(20, 90) * second
  const noticeSeconds = luck.int(20, 240)
  const cancels = luck.chance(0.3) ? luck.int(second, noticeSeconds * second) : undefined
  const advice = eventOf(luck.fork('advice'), vms, 0x200, {
    afterMs,
    cancelAfterMs: cancels,
    request: { ...request, EventType: adviceType, noticeSeconds },
  })
  if (luck.chance(0.5)) return [advice]
  const preempt = eventOf(luck.fork('preempt'), vms, 0x201, {
    afterMs: afterMs + luck.int(-5, noticeSeconds) * second,
    request: { ...request, EventType: 'Preempt', noticeSeconds: luck.int(5, 30) },
  })
  return [advice, preempt]
}

/** Users ask for many restarts within a moment. */
function crowd(luck: Random, tenants: Tenants): PlannedEvent[] {
  const vms = luck.pick(tenants.prod)
  const afterMs = luck.int(20, 60) * second
  return Array.from({ length: luck.int(6, 9) }, (_, i) => {
    const request = { EventSource: 'User' as const, noticeSeconds: 120, impactSeconds: 3 }
    return eventOf(luck.fork(`crowd ${i}`), vms, 0x100 + i, { afterMs: afterMs + i, request })
  })
}
