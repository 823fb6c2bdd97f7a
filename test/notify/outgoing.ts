// What a notifier is handed in these tests, and the channels it is handed it for.
import type { Channel } from '../../functions/config.ts'
import { type Telling, viewOf } from '../../functions/core/delivery.ts'
import type { Facts } from '../../functions/core/event.ts'
import { compose } from '../../functions/core/message.ts'
import type { Post } from '../../functions/core/post.ts'
import { notifiers } from '../../functions/notify/index.ts'
import type { Outgoing, PostAccess, Send } from '../../functions/notify/notifier.ts'
import { at, claimed, facts, record, telling } from '../support/records.ts'
import { hookSecret, routingKey } from '../support/world.ts'

export const kinds = ['slack', 'teams', 'pagerduty', 'webhook'] as const
export type Kind = (typeof kinds)[number]

/** Each with a secret in it that no outcome may show. */
export const channels: { [K in Kind]: Extract<Channel, { kind: K }> } = {
  slack: { kind: 'slack', url: 'https://slack.example/services/T0/B0/path-secret' },
  teams: { kind: 'teams', url: 'https://teams.example/flow/run?api-version=1&sig=query%2Dsecret' },
  pagerduty: { kind: 'pagerduty', routingKey, endpoint: 'https://pager.example/v2/enqueue' },
  webhook: { kind: 'webhook', url: 'https://hook.example/in/path-secret', secret: [hookSecret] },
}

export const secretParts = /path-secret|query%2Dsecret|query-secret|0123456789abcdef|aG9va3Nl/

export function outgoing(changes: Partial<Outgoing> = {}, told: Partial<Telling> = {}): Outgoing {
  const now = changes.now ?? at
  const what = telling(told)
  return {
    delivery: claimed('prod/an-event/1/scheduled/chat', { telling: what }),
    message: compose(what, now),
    pageUrl: 'https://foghorn.example/approve/token',
    mayHaveHeard: true,
    also: [],
    posts: memoryPosts(),
    now,
    signal: new AbortController().signal,
    ...changes,
  }
}

/** What a store keeps of one epoch and channel. */
export function memoryPosts(): PostAccess & { kept: Post | undefined } {
  const posts: PostAccess & { kept: Post | undefined } = {
    kept: undefined,
    read: async () => posts.kept,
    write: async (state, basedOn) => {
      if ((posts.kept?.version ?? 0) !== basedOn) return 'conflict'
      posts.kept = { version: basedOn + 1, state }
      return 'written'
    },
  }
  return posts
}

/** A message about an event with these facts. */
export function about(changes: Partial<Facts>, told: Partial<Telling> = {}): Outgoing {
  const event = viewOf(record({ facts: facts(changes) }))
  return outgoing({}, { event, ...told })
}

export function notify(
  kind: Kind,
  send: Send,
  what = outgoing(),
  channel: Channel = channels[kind],
) {
  return notifiers[kind].notify(what, channel as never, send)
}
