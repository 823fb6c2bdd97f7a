// Signed webhooks for other systems: a CloudEvent 1.0 under Standard Webhooks headers.
import type { z } from 'zod'
import { cut } from '../../shared/document.ts'
import { sign } from '../../shared/signature.ts'
import type { SendOutcome } from '../core/delivery/attempt.ts'
import {
  type AlertTelling,
  type Delivery,
  type FleetAlert,
  isAlertOf,
  type Telling,
} from '../core/delivery/delivery.ts'
import { unlimited } from '../core/delivery/rate.ts'
import type { AbsenceNews } from '../core/event/event.ts'
import type { Readiness } from '../core/event/hook-state.ts'
import { publicView } from '../core/event/public-view.ts'
import { alertText } from '../core/message/alert.ts'
import { secrets, webUrl } from '../schema/checks.ts'
import { entry, type Kind } from './kind.ts'
import {
  type Answer,
  fromError,
  fromStatus,
  isRedirect,
  isSuccess,
  type Notifier,
  post,
} from './notifier.ts'

/** Standard Webhooks advises to stay below 20 kB, as receivers may refuse more. */
const maxBodyBytes = 19_999

const schema = entry('webhook', {
  url: webUrl.describe('The address for CloudEvents with Standard Webhooks headers.'),
  secret: secrets.describe('Signs them. "whsec_" and base64, or a list while one is replaced.'),
})

const notifier: Notifier<z.output<typeof schema>> = {
  overtakes: () => false,
  rate: unlimited,
  opensIncidents: false,
  buttons: undefined,
  async notify({ delivery, now, signal }, channel, send) {
    const { telling } = delivery
    const body = isAlertOf(telling) ? alertBody(delivery.id, telling) : bodyOf(delivery)
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

/**
 * The same bytes at every attempt: nothing depends on the time of sending. If the body is too long,
 * the list of VMs is cut first (`resourcesTotal` has their number), then the lists in `readiness`
 * (`counts` stay), then the description (ends in `…`).
 */
function bodyOf(delivery: Delivery): string {
  const { event } = delivery.telling
  const { resources, description = '' } = event.facts
  const written = (names: number, listed: number, length: number) => {
    const kept = { resources: resources.slice(0, names), description: cut(description, length) }
    return JSON.stringify(cloudEvent(delivery, { ...kept, listed }), wholeCharacters)
  }
  let [names, length] = [resources.length, description.length]
  let listed = listsIn(event)
  let body = written(names, listed, length)
  while (isTooLong(body) && (names > 0 || listed > 0 || length > 1)) {
    if (names > 0) names = Math.floor(names * 0.9)
    else if (listed > 0) listed = Math.floor(listed / 2)
    else length = Math.max(1, Math.floor(length * 0.9))
    body = written(names, listed, length)
  }
  return body
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
): string {
  const body = {
    specversion: '1.0',
    id,
    source: `/fleets/${encodeURIComponent(fleet)}`,
    type: `foghorn.alert.${about.alert}`,
    time: new Date(at).toISOString(),
    subject: about.alert,
    datacontenttype: 'application/json',
    data: {
      ...{ fleet, kind: about.alert, episode: about.episode },
      ...(alert && { since: new Date(alert.since).toISOString(), ...alertText(fleet, alert, at) }),
      ...(alert && { vms: alert.vms, reasons: alert.reasons }),
      ...(alert?.news && newsOf(alert.news)),
    },
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

function cloudEvent(
  { id, telling }: Delivery,
  kept: { resources: string[]; description: string; listed: number },
) {
  const { resources, description, listed } = kept
  const { readiness, ...event } = telling.event
  const shown = readiness && { readiness: cutLists(readiness, listed) }
  const view = publicView({ ...event, ...shown })
  const all = view.resources.length
  return {
    specversion: '1.0',
    id,
    source: `/fleets/${encodeURIComponent(event.fleet)}`,
    type: `foghorn.event.${telling.moment}`,
    time: new Date(telling.at).toISOString(),
    subject: event.eventId,
    datacontenttype: 'application/json',
    data: {
      ...view,
      resources,
      ...(resources.length < all ? { resourcesTotal: all } : {}),
      ...(view.description === undefined ? {} : { description }),
      moment: telling.moment,
      ...(telling.moment === 'alert' ? { about: telling.about } : {}),
    },
  }
}
