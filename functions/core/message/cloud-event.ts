// A moment for other systems, as a CloudEvent 1.0 in structured JSON: webhooks and streams send it.
import { cut } from '../../../shared/text.ts'
import type { AlertNotification, ChannelTrouble, Notification } from '../delivery/delivery.ts'
import type { Readiness } from '../event/hook-state.ts'
import { type PublicEvent, publicView } from '../event/public-view.ts'

/** The version of the schema of `data`. It grows with every change that could break a receiver. */
export const eventSchemaVersion = 1
export const eventSchemaPath = '/schemas/event.json'
/** An address under the relay's public one: `$id` of the schema, and `dataschema`. */
export const eventSchemaAddress = `${eventSchemaPath}?version=${eventSchemaVersion}`

/** Standard Webhooks advises to stay below 20 kB, as receivers may refuse more. */
const maxBodyBytes = 19_999

export interface EventLinks {
  /** The event's page in the console. Absent if the console is off. */
  page?: string
  /** The event in the API. */
  api: string
  /** The page that decides. */
  decide?: string
}

/** `data` of the CloudEvent. functions/schema/event.ts has its schema. */
export interface EventData extends PublicEvent {
  moment: Notification['moment'] | 'alert'
  /** The event is made up. Absent for a real one and for a drill. */
  test?: true
  vms: NonNullable<PublicEvent['vms']>
  /** How many there are, if `resources` was cut. */
  resourcesTotal?: number
  /** How many there are, if `vms` was cut. */
  vmsTotal?: number
  about?: ChannelTrouble
  links: EventLinks
}

/** What is sent. The id is also the idempotency key. */
interface Sent {
  id: string
  notification: Notification | AlertNotification
}

interface Origin {
  /** Where outsiders reach the relay. */
  publicUrl: string
}

/** How much of the body's lists and texts is kept, from what is cut first to what is cut last. */
interface Lengths {
  /** VMs of which only the name is known: `resources` has the names, too. */
  bareVms: number
  /** Names in `resources`; `resourcesTotal` has their number. */
  names: number
  /** Entries of each list in `readiness`; its `counts` stay. */
  listed: number
  /** VMs of which more is known; `vmsTotal` has the number of affected VMs. */
  vms: number
  /** Characters of the description, which then ends in `…`. */
  length: number
}

const cutOrder = ['bareVms', 'names', 'listed', 'vms', 'length'] as const

/** Every attempt has the same bytes, because nothing depends on the time of sending. */
export function cloudEventBody(sent: Sent, links: EventLinks, origin: Origin): string {
  const { event } = sent.notification
  const written = (lengths: Lengths) =>
    JSON.stringify(cloudEvent(sent, links, origin, lengths), wholeCharacters)
  const { resources, description = '' } = event.facts
  const vms = event.vms?.length ?? 0
  const lengths: Lengths = {
    bareVms: resources.length - vms,
    names: resources.length,
    listed: listsIn(event),
    vms,
    length: description.length,
  }
  let body = written(lengths)
  while (isTooLong(body)) {
    const next = cutOrder.find((part) => lengths[part] > (part === 'length' ? 1 : 0))
    if (next === undefined) break
    lengths[next] = shorten(next, lengths[next])
    body = written(lengths)
  }
  return body
}

function shorten(part: keyof Lengths, length: number): number {
  if (part === 'bareVms') return 0
  if (part === 'listed') return Math.floor(length / 2)
  return Math.max(part === 'length' ? 1 : 0, Math.floor(length * 0.9))
}

function isTooLong(body: string): boolean {
  return new TextEncoder().encode(body).length > maxBodyBytes
}

/** The length of the longest list in `readiness`. */
function listsIn({ wait: { readiness } }: Notification['event']): number {
  return Math.max(readiness?.unready.length ?? 0, readiness?.restore?.failed.length ?? 0)
}

function cutLists(readiness: Readiness, listed: number): Readiness {
  const { unready, restore } = readiness
  return {
    ...readiness,
    unready: unready.slice(0, listed),
    ...(restore && { restore: { ...restore, failed: restore.failed.slice(0, listed) } }),
  }
}

/** Many receivers cannot read JSON with half a character. */
export function wholeCharacters(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value
}

function cloudEvent(
  { id, notification }: Sent,
  links: EventLinks,
  { publicUrl }: Origin,
  lengths: Lengths,
) {
  const { event } = notification
  const { readiness } = event.wait
  const shown = readiness && { readiness: cutLists(readiness, lengths.listed) }
  const known = event.vms ?? []
  const { vms = [], ...view } = publicView({
    ...event,
    wait: { ...event.wait, ...shown },
    vms: known,
  })
  const all = view.resourcesTotal ?? view.resources.length
  const shownVms = [
    ...vms.slice(0, lengths.vms),
    ...vms.slice(known.length, known.length + lengths.bareVms),
  ]
  const data: EventData = {
    ...view,
    resources: view.resources.slice(0, lengths.names),
    ...(lengths.names < all ? { resourcesTotal: all } : {}),
    vms: shownVms,
    ...(shownVms.length < vms.length ? { vmsTotal: vms.length } : {}),
    ...(view.description === undefined
      ? {}
      : { description: cut(view.description, lengths.length) }),
    moment: notification.moment,
    ...(event.test && { test: event.test }),
    ...(notification.moment === 'alert' && 'channel' in notification.about
      ? { about: notification.about }
      : {}),
    links,
  }
  return {
    specversion: '1.0',
    id,
    source: `/fleets/${encodeURIComponent(event.fleet)}`,
    type: `foghorn.event.${notification.moment}`,
    time: new Date(notification.at).toISOString(),
    subject: event.eventId,
    datacontenttype: 'application/json',
    dataschema: `${publicUrl}${eventSchemaAddress}`,
    data,
  }
}
