// `/v1/channels`: the configured channels, their health, and a test message.

import type { Context } from 'hono'
import * as z from 'zod'
import { iso } from '../../../shared/json.ts'
import { publicDelivery } from '../../core/event/public-view.ts'
import { isBound } from '../../core/rules/access.ts'
import { type Channel, writtenKind } from '../../core/rules/config.ts'
import { channelsRouted } from '../../core/rules/routes.ts'
import { time } from '../../schema/checks.ts'
import { channelsInTrouble, testChannel } from '../../use-cases/channel-health.ts'
import { channelNamed, type Relay } from '../../use-cases/relay.ts'
import { named, problem } from '../problem.ts'
import { type Route, route } from '../route.ts'
import { readAccess } from './access.ts'
import { deliveryAnswer } from './deliveries.ts'

const channelAnswer = z
  .object({
    name: z.string(),
    kind: z.string(),
    by: z.enum(['webhook', 'bot']).exactOptional().describe('Only of services that have both.'),
    preset: z.string().exactOptional().describe('Only of kind `http`.'),
    fallback: z.string().exactOptional(),
    state: z.enum(['ok', 'refusing', 'unreachable']),
    since: time.exactOptional(),
    note: z.string().exactOptional(),
  })
  .meta({ id: 'Channel' })

const listChannels = route({
  method: 'get',
  path: '/v1/channels',
  name: 'listChannels',
  summary: 'Lists the configured channels and their health.',
  group: 'Channels',
  caller: 'read',
  answers: {
    200: { about: 'All channels.', schema: z.object({ channels: z.array(channelAnswer) }) },
  },
  handler:
    ({ relay }) =>
    async (c) => {
      const inTrouble = await channelsInTrouble(relay)
      const shown = channelsFor(relay, c)
      const all = Object.entries(relay.config.channels)
      const channels = all.flatMap(([name, channel]) => {
        if (shown?.includes(name) === false) return []
        const health = inTrouble.find((one) => one.channel === name)
        const what = { name, ...asConfigured(relay, channel), fallback: channel.fallback }
        if (health === undefined) return { ...what, state: 'ok' }
        const { state, since, note } = health
        return { ...what, state, since: iso(since), note }
      })
      return c.json({ channels })
    },
})

/** The channels that may receive events of the sender's fleets. Undefined: all channels. */
function channelsFor({ config }: Relay, c: Context): string[] | undefined {
  const access = readAccess(c)
  const { routes, channels } = config
  return isBound(access) ? channelsRouted(routes, channels, access.fleets) : undefined
}

/** Inside the relay, webhook and bot of a service are two kinds. In the configuration they are one. */
function asConfigured({ sending }: Pick<Relay, 'sending'>, channel: Channel) {
  const kind = writtenKind(channel)
  if (`${kind}_bot` in sending.notifiers) {
    return { kind, by: channel.kind === kind ? 'webhook' : 'bot' }
  }
  return { kind, preset: channel.preset }
}

const postTest = route({
  method: 'post',
  path: '/v1/channels/{name}/test',
  name: 'testChannel',
  summary: 'Sends a test message to a channel.',
  about:
    'The message says that it is a test. PagerDuty opens an incident and resolves it at once. ' +
    'A channel gets one test in 10 s.',
  group: 'Channels',
  caller: 'manage',
  params: { name: 'Its name in the configuration.' },
  answers: {
    202: {
      about: 'The message, which is on its way.',
      schema: z.object({ delivery: deliveryAnswer }),
    },
  },
  problems: [404, 429],
  handler:
    ({ relay }) =>
    async (c, { params: { name } }) => {
      const isShown = channelsFor(relay, c)?.includes(name) ?? true
      if (!isShown || channelNamed(relay, name) === undefined) {
        const detail = `there is no channel ${named(name)}; GET /v1/channels lists all`
        return problem(c, 404, 'channel_unknown', detail)
      }
      const tested = await testChannel(relay, readAccess(c), name)
      if (tested.outcome === 'planned') {
        return c.json({ delivery: publicDelivery(tested.delivery) }, 202)
      }
      const seconds = Math.ceil(tested.waitMs / 1_000)
      c.header('retry-after', String(seconds))
      const detail = `another test was sent a moment ago; send the next one in ${seconds} s`
      return problem(c, 429, 'test_too_soon', detail)
    },
})

export const channelRoutes: Route[] = [listChannels, postTest]
