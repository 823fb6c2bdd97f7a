// The runbook of a rule or a route: a button in messages, and a field for other systems.
import { expect, test } from 'vitest'
import { eventNow, report, startRelay, world } from '../support/relay.ts'
import { event } from '../support/world.ts'

const [ofRule, ofRoute] = ['https://wiki.example/reboots', 'https://wiki.example/payments']
const policy = [{ match: {}, decide: 'ask', runbook: ofRule }]
const bodyOf = (host: string) => world.sent.find(({ url }) => url.includes(host))!.body

test('the rule has one for all, and a route its own for its channels', async () => {
  const routes = [
    { match: {}, channels: ['team', 'hook'] },
    { match: {}, channels: ['chat'], runbook: ofRoute },
  ]
  await startRelay({ policy, routes })
  await report(event())
  await world.drain()
  expect(bodyOf('slack')).toContain(`"url":"${ofRoute}"`)
  expect(bodyOf('slack')).not.toContain(ofRule)
  expect(bodyOf('teams')).toContain(`"url":"${ofRule}"`)
  expect((await eventNow()).policy).toMatchObject({ runbook: ofRule })
})
