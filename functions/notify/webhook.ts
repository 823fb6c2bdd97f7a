// Signed webhooks for other systems: a CloudEvent 1.0 under Standard Webhooks headers.
import type { z } from 'zod'
import { cut } from '../../shared/document.ts'
import { sign } from '../../shared/signature.ts'
import type { SendOutcome } from '../core/delivery/attempt.ts'
import {
  type AlertTelling,
  type FleetAlert,
  isAlertOf,
  type Telling,
} from '../core/delivery/delivery.ts'
import { unlimited } from '../core/delivery/rate.ts'
import type { AbsenceNews } from '../core/event/event.ts'
import type { Readiness } from '../core/event/hook-state.ts'
import { publicView } from '../core/event/public-view.ts'
import { alertText } from '../core/message/alert.ts'
import { type AlertData, alertSchemaAddress } from '../schema/alert.ts'
import { oneOf, secrets, webUrl } from '../schema/checks.ts'
import { type EventData, eventSchemaAddress } from '../schema/event.ts'
import { entry, type Kind } from './kind.ts'
import {
  type Answer,
  fromError,
  fromStatus,
  isRedirect,
  isSuccess,
  type Notifier,
  type Outgoing,
  post,
} from './notifier.ts'

/** Standard Webhooks advises to stay below 20 kB, as receivers may refuse more. */
const maxBodyBytes = 19_999

const schema = entry('webhook', {
  url: webUrl.describe('The address for CloudEvents with Standard Webhooks headers.'),
  secret: secrets.describe('Signs them. "whsec_" and base64, or a list while one is replaced.'),
  links: oneOf(['read', 'decide'])
    .optional()
    .describe('With "decide", bodies contain the link that approves: their receiver can decide.'),
})

const notifier: Notifier<z.output<typeof schema>> = {
  overtakes: () => false,
  rate: unlimited,
  opensIncidents: false,
  buttons: undefined,
  async notify(outgoing, channel, send) {
    const { delivery, now, signal } = outgoing
    const { telling } = delivery
    const body = isAlertOf(telling)
      ? alertBody(delivery.id, telling, outgoing.publicUrl)
      : bodyOf(outgoing, linksOf(outgoing, channel.links))
    try {
      const signature = await sign(channel.secret, delivery.id, now, body)
      const headers = { ...signature, 'content-type': 'application/cloudevents+json' }
      const answer = await post(send, channel.url, body, headers, signal)
      if (isSuccess(answer.status)) {
        return { outcome: 'delivered', note: `HTTP ${answer.status}` }
      }
      return judge(answer, now)
    } catch (error) {
      return fromError(error, signal)
    }
  },
}

export const webhook: Kind<typeof schema> = { schema, notifiers: { webhook: notifier } }

/**
 * 410 means "switched off" in Standard Webhooks, and a redirect is not followed: a person has to
 * act. With any other status, the receiver may be in the middle of a deployment, so retry.
 */
function judge(answer: Answer, now: number): SendOutcome {
  const judged = fromStatus(answer, now)
  const final = answer.status === 410 || isRedirect(answer.status)
  return final || judged.outcome !== 'refused' ? judged : { outcome: 'retry', note: judged.note }
}

type Links = EventData['links']

/** The address that decides is only for channels that ask for it, and only until the event ends. */
function linksOf({ links, pageUrl, delivery }: Outgoing, wanted = 'read'): Links {
  const decides = wanted === 'decide' && delivery.telling.event.ended === undefined
  return { ...links!, ...(decides && pageUrl !== undefined ? { decide: pageUrl } : {}) }
}

/** How much of the body's lists and texts is kept, from what is cut first to what is cut last. */
interface Kept {
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

/** The same bytes at every attempt: nothing depends on the time of sending. */
function bodyOf(outgoing: Outgoing, links: Links): string {
  const { event } = outgoing.delivery.telling
  const written = (kept: Kept) => JSON.stringify(cloudEvent(outgoing, links, kept), wholeCharacters)
  const { resources, description = '' } = event.facts
  const vms = event.vms?.length ?? 0
  const kept: Kept = {
    bareVms: resources.length - vms,
    names: resources.length,
    listed: listsIn(event),
    vms,
    length: description.length,
  }
  let body = written(kept)
  while (isTooLong(body)) {
    const next = cutOrder.find((part) => kept[part] > (part === 'length' ? 1 : 0))
    if (next === undefined) break
    kept[next] = lessOf(next, kept[next])
    body = written(kept)
  }
  return body
}

function lessOf(part: keyof Kept, kept: number): number {
  if (part === 'bareVms') return 0
  if (part === 'listed') return Math.floor(kept / 2)
  return Math.max(part === 'length' ? 1 : 0, Math.floor(kept * 0.9))
}

function isTooLong(body: string): boolean {
  return new TextEncoder().encode(body).length > maxBodyBytes
}

/** The length of the longest list in `readiness`. */
function listsIn({ readiness }: Telling['event']): number {
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

/** An alert has no event, so the body has the fleet and the texts. */
function alertBody(
  id: string,
  { at, event: { fleet, alert }, about }: AlertTelling & { about: FleetAlert },
  publicUrl: string,
): string {
  const data: AlertData = {
    ...{ fleet, kind: about.alert, episode: about.episode },
    ...(alert && { since: new Date(alert.since).toISOString(), ...alertText(fleet, alert, at) }),
    ...(alert && { vms: alert.vms, reasons: alert.reasons }),
    ...(alert?.news && newsOf(alert.news)),
  }
  const body = {
    specversion: '1.0',
    id,
    source: `/fleets/${encodeURIComponent(fleet)}`,
    type: `foghorn.alert.${about.alert}`,
    time: new Date(at).toISOString(),
    subject: about.alert,
    datacontenttype: 'application/json',
    dataschema: `${publicUrl}${alertSchemaAddress}`,
    data,
  }
  return JSON.stringify(body, wholeCharacters)
}

/** Of an alert about absent beacons. `vms` has the first of `count`. */
function newsOf({ form, count, remaining, left }: AbsenceNews) {
  return { form, count, remaining, left }
}

/** Many receivers cannot read JSON with half a character. */
function wholeCharacters(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value
}

function cloudEvent({ delivery: { id, telling }, publicUrl }: Outgoing, links: Links, kept: Kept) {
  const { readiness, ...event } = telling.event
  const shown = readiness && { readiness: cutLists(readiness, kept.listed) }
  const known = event.vms ?? []
  const { vms = [], ...view } = publicView({ ...event, ...shown, vms: known })
  const all = view.resources.length
  const keptVms = [
    ...vms.slice(0, kept.vms),
    ...vms.slice(known.length, known.length + kept.bareVms),
  ]
  const data: EventData = {
    ...view,
    resources: view.resources.slice(0, kept.names),
    ...(kept.names < all ? { resourcesTotal: all } : {}),
    vms: keptVms,
    ...(keptVms.length < vms.length ? { vmsTotal: vms.length } : {}),
    ...(view.description === undefined ? {} : { description: cut(view.description, kept.length) }),
    moment: telling.moment,
    ...(telling.moment === 'alert' && 'channel' in telling.about ? { about: telling.about } : {}),
    links,
  }
  return {
    specversion: '1.0',
    id,
    source: `/fleets/${encodeURIComponent(event.fleet)}`,
    type: `foghorn.event.${telling.moment}`,
    time: new Date(telling.at).toISOString(),
    subject: event.eventId,
    datacontenttype: 'application/json',
    dataschema: `${publicUrl}${eventSchemaAddress}`,
    data,
  }
}
