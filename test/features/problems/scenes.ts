// Messages about problems of Foghorn itself.
import { alertId, alertsTo } from '../../../functions/core/delivery/alert.ts'
import { noFleet } from '../../../functions/core/delivery/delivery.ts'
import { describeLimit, maxOpenOfBeacon } from '../../../functions/core/limits.ts'
import {
  type NotedProblem,
  type ProblemKind,
  withChange,
  withMessage,
} from '../../../functions/features/problems/rule.ts'
import type { Outgoing } from '../../../functions/notify/notifier.ts'
import { after } from '../../notify/sent.ts'
import { has } from '../../support/features.ts'
import { at } from '../../support/records.ts'

const minute = 60_000

function overLimits(): Outgoing {
  const reason = describeLimit({ ofBeacon: maxOpenOfBeacon, ofFleet: 0 })!
  return problem('over_limits', ['web_0'], { reasons: [reason] })
}

function subscriptionDisabled(): Outgoing {
  const id = '4f0c7a1be29d3356'
  const reasons = [`"cmdb": its endpoint answered 410 Gone`]
  return problem('subscription_disabled', [id], { reasons })
}

interface Course {
  reasons?: string[]
  /** Names of those that are back or have left: the message is about their end. */
  back?: string[]
  left?: string[]
  of?: number
}

/** The last message about these problems. */
export function problem(
  of: ProblemKind | 'subscription_disabled',
  names: string[],
  course: Course = {},
): Outgoing {
  const kind = of as ProblemKind
  const { reasons = [], back = [], left = [], of: beacons } = course
  const isOwn = kind === 'channels_in_trouble' || kind === 'disk_nearly_full'
  const key = { fleet: isOwn ? noFleet : 'prod', kind }
  const begunAt = at + (kind.startsWith('beacons') ? 15 : 1) * minute
  const add = names.map((name, i): NotedProblem => {
    const [reason] = reasons.slice(i)
    return { id: `${name}${i}`, name, since: at, from: begunAt, ...(reason && { reason }) }
  })
  const messageAt = (row: ReturnType<typeof withChange>, now: number) => {
    const { row: next, about } = withMessage(row!, now)
    const own = { fleet: key.fleet, eventId: alertId(kind), sequence: next.sent }
    return { row: next, deliveries: alertsTo(['ops'], own, about!, now) }
  }
  const begun = messageAt(withChange(undefined, key, { add, of: beacons }, at), begunAt)
  if (back.length + left.length === 0) return after([], begun.deliveries)
  const idsOf = (some: string[]) =>
    add.filter(({ name }) => some.includes(name)).map(({ id }) => id)
  const change = { back: idsOf(back), left: idsOf(left) }
  const over = messageAt(withChange(begun.row, key, change, at + 20 * minute), at + 31 * minute)
  return after(begun.deliveries, over.deliveries)
}

export const problemScenes: Record<string, Outgoing> = {
  'a fleet is over its limits': overLimits(),
  'a fleet is within its limits again': problem('over_limits', ['web_0'], { back: ['web_0'] }),
  ...(has('subscriptions') && { 'a subscription is disabled': subscriptionDisabled() }),
  'channels are in trouble': problem('channels_in_trouble', ['ops-teams', 'pager'], {
    reasons: ['ops-teams is refusing: HTTP 404', 'pager is unreachable: no answer in time'],
  }),
  'a channel is in order again': problem('channels_in_trouble', ['pager'], { back: ['pager'] }),
  'the disk is nearly full': problem('disk_nearly_full', [''], {
    reasons: ['612 MB of 20.0 GB are free'],
  }),
  'Azure refuses the relay': problem('azure_refuses', ['1e1e1e1e'], {
    reasons: [
      'the role is missing: az role assignment create --assignee CLIENT_ID --role ROLE --scope /subscriptions/1e1e1e1e',
    ],
  }),
  'the disk has space again': problem('disk_nearly_full', [''], { back: [''] }),
}
