// `GET /healthz`: strangers and probes get one word. The admin key and tokens for all fleets get the
// list of troubles, which names channels, in their turn. Strangers share one answer for 5 s, so that
// they cannot load the store.
import * as z from 'zod'
import { messageOf } from '../../shared/errors.ts'
import { isBound, may } from '../core/rules/access.ts'
import { channelsInTrouble } from '../use-cases/channel-health.ts'
import { nextDueAt } from '../use-cases/deliver.ts'
import type { Relay } from '../use-cases/relay.ts'
import { authorizationIn, findAccess } from './api/access.ts'
import { refuseBusy } from './door.ts'
import { route } from './route.ts'

const sharedMs = 5_000

const healthAnswer = z.object({
  status: z.enum(['ok', 'troubled', 'failed']),
  time: z.iso.datetime().exactOptional().describe('With a credential.'),
  troubles: z.array(z.string()).exactOptional().describe('With a credential. One sentence each.'),
})

interface Health {
  status: 'ok' | 'troubled' | 'failed'
  troubles: string[]
}

export const healthRoute = route({
  method: 'get',
  path: '/healthz',
  name: 'getHealth',
  summary: 'Whether the relay works. Without a credential, the answer is at most 5 s old.',
  group: 'Relay',
  caller: 'anyone',
  answers: {
    200: { about: 'The store answers.', schema: healthAnswer },
    503: { about: 'The store does not answer.', schema: healthAnswer },
  },
  handler({ relay, keyGuard, door }) {
    let shared: { readAt: number; health: Promise<Health> } | undefined
    const read = () => {
      shared = { readAt: relay.now(), health: readHealth(relay) }
      return shared.health
    }
    /** For strangers and probes. */
    const readShared = () => {
      const isFresh = shared !== undefined && Math.abs(relay.now() - shared.readAt) < sharedMs
      return isFresh ? shared!.health : read()
    }
    return async (c) => {
      const found = authorizationIn(c) === '' ? undefined : await findAccess(relay, keyGuard, c)
      if (found instanceof Response) return found
      if (found === undefined || isBound(found) || !may(found, 'read')) {
        const { status } = await readShared()
        return c.json({ status }, httpStatus(status))
      }
      const health = await door.pass(found, read)
      if (health === 'full') return refuseBusy(c)
      const { status, troubles } = health
      const time = new Date(relay.now()).toISOString()
      return c.json({ status, time, ...(troubles[0] && { troubles }) }, httpStatus(status))
    }
  },
})

function httpStatus(status: Health['status']) {
  return status === 'failed' ? 503 : 200
}

async function readHealth(relay: Relay): Promise<Health> {
  try {
    await nextDueAt(relay)
    const troubles = [...relay.clockWatch.troubles(), ...(await relay.host.troubles())]
    troubles.push(...(await channelTroubles(relay)))
    return { status: troubles.length === 0 ? 'ok' : 'troubled', troubles }
  } catch (error) {
    relay.log.error('health_failed', { error: messageOf(error) })
    return { status: 'failed', troubles: ['the store does not answer; the log says why'] }
  }
}

async function channelTroubles(relay: Relay): Promise<string[]> {
  return (await channelsInTrouble(relay)).map(({ state, channel, since }) => {
    const from = new Date(since).toISOString()
    const what = state === 'refusing' ? 'has been refusing messages' : 'has been unreachable'
    return `channel "${channel}" ${what} since ${from}; the log shows the answers of the channel`
  })
}
