// The requests that channels of kind `http` make, as their service gets them, without secrets. The event
// is made up.
import { maskOf } from '../../shared/mask.ts'
import { webHmac } from '../../shared/signature.ts'
import type { Config } from '../config/config.ts'
import { unsentFor } from '../core/delivery/delivery.ts'
import type { Moment } from '../core/event/moment.ts'
import { testEvent } from '../core/event/test-event.ts'
import { compose } from '../core/message/message.ts'
import { composeRequest, composeRequests } from '../notify/http/index.ts'
import { buildStoryKey, type Step } from '../notify/incidents.ts'
import type { Outgoing } from '../notify/notifier.ts'
import { channelSecrets } from '../notify/registry.ts'

/** A text of several lines for each such channel. */
export function shownRequests({ channels, fleets, publicUrl }: Config, now: number): string[] {
  return Object.entries(channels).flatMap(([name, channel]) => {
    if (channel.kind !== 'http' && channel.kind !== 'http_incidents') return []
    const mask = maskOf(channelSecrets(channel))
    const requests = channel.kind === 'http' ? { message: channel } : composeRequests(channel)
    return Object.entries(requests).map(([action, request]) => {
      const moment = moments.get(action) ?? 'scheduled'
      const outgoing = sample(name, moment, Object.keys(fleets)[0]!, publicUrl, now)
      const step = { key: buildStoryKey(outgoing.delivery.notification), action } as Step
      const own = channel.kind === 'http' ? undefined : step
      const { url, headers, body } = composeRequest(outgoing, channel, request, own)
      const shown = Object.entries(headers).map(([header, value]) => `${header}: ${value}`)
      const json = JSON.stringify(JSON.parse(body), undefined, 2)
      const lines = [`POST ${url}`, ...shown, ...json.split('\n')].map((line) => `  ${mask(line)}`)
      return [`channels.${name}, ${own === undefined ? 'each message' : action}:`, ...lines].join(
        '\n',
      )
    })
  })
}

const moments = new Map<string, Moment>([
  ['acknowledge', 'approved'],
  ['resolve', 'completed'],
])

function sample(
  channel: string,
  moment: Moment,
  fleet: string,
  publicUrl: string,
  now: number,
): Outgoing {
  const event = testEvent({ fleet, eventType: 'Reboot', id: 'request', moment }, now)
  const notification = { moment, at: now, event }
  const id = `${fleet}/${event.eventId}/1/${moment}/${channel}`
  const unsent = { ...unsentFor({ fleet, eventId: event.eventId, seq: 1 }, channel, now), id }
  return {
    delivery: { ...unsent, urgentUntil: now, notification, lease: '', leaseUntil: now },
    message: compose(notification, now),
    pageUrl: `${publicUrl}/approve/[token]`,
    mayHaveHeard: [],
    also: [],
    chatMessage: { read: async () => undefined, write: async () => 'written' },
    publicUrl,
    hmac: webHmac,
    wait: async () => {},
    azureTokens: { read: async () => '', drop: () => {} },
    now,
    signal: new AbortController().signal,
  }
}
