// All of the relay's HTTP face, put together; functions/http/ has its parts. Knows no host: a host calls
// its `fetch`.
import { Hono } from 'hono'
import { messageOf } from '../shared/errors.ts'
import { nextDueAt } from './deliver.ts'
import { adminRoutes } from './http/admin.ts'
import { pageRoutes } from './http/approve.ts'
import { failed, keepPrivate, notFound } from './http/page.ts'
import { BodyBrokenOff, problem } from './http/problem.ts'
import { recordPages } from './http/record.ts'
import { createRefusals } from './http/refusals.ts'
import { reportRoutes } from './http/reports.ts'
import { interactionRoutes } from './http/slack.ts'
import { outagesOf } from './outage.ts'
import type { Relay } from './relay.ts'

export function createApp(relay: Relay): Hono {
  const app = new Hono()
  const refusals = createRefusals({ now: () => relay.now(), log: relay.log })
  app.use('*', keepPrivate)
  app.route('/', reportRoutes(relay, refusals))
  app.route('/approve', pageRoutes(relay, refusals))
  app.route('/', interactionRoutes(relay, refusals))
  app.route('/v1', adminRoutes(relay, refusals))
  app.route('/record', recordPages(relay, refusals))
  app.get('/healthz', async (c) => {
    await nextDueAt(relay)
    const troubles = [...(await relay.troubles()), ...(await channelTroubles(relay))]
    const status = troubles.length === 0 ? 'ok' : 'troubled'
    return c.json({
      status,
      time: new Date(relay.now()).toISOString(),
      ...(troubles[0] && { troubles }),
    })
  })
  app.notFound(notFound)
  app.onError((error, c) => {
    if (error instanceof BodyBrokenOff) {
      const fields = { method: c.req.method, error: messageOf(error.cause) }
      refusals.note('requests_broken_off', fields, '', 'info')
      return problem(c, 400, 'body_broken_off', 'the body broke off; send it whole')
    }
    relay.log.error('request_failed', { method: c.req.method, error: messageOf(error) })
    return failed(c)
  })
  return app
}

/** Anybody may read them: what the channel answered is for the log and the events API. */
async function channelTroubles(relay: Relay): Promise<string[]> {
  return (await outagesOf(relay)).map(({ kind, channel, since }) => {
    const from = new Date(since).toISOString()
    const what = kind === 'refuses' ? 'refuses messages' : "can't be reached"
    return `channel "${channel}" ${what} since ${from}; the log says what it answers`
  })
}
