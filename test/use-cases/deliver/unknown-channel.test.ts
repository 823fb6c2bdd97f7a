// Relays that share a store and do not have the same configuration yet: a channel that only the newer one knows.
import { expect, test } from 'vitest'
import { eventNow, hour, minute, relayForEach, report, world } from '../../support/relay.ts'
import { event, usualAnswer } from '../../support/world.ts'

relayForEach()

const stateOf = async (channel: string) => {
  const { deliveries } = await eventNow()
  return deliveries.find((one: { channel: string }) => one.channel === channel).state
}

test.each([
  ['has read its configuration long ago leaves its messages to the others', hour, 'pending'],
  ['has just read its configuration refuses them: the channel is gone', minute, 'refused'],
])('a relay that %s', async (_, sinceMs, state) => {
  world.channels.answer = (request) =>
    request.url.includes('slack') ? new Response('', { status: 503 }) : usualAnswer(request)
  await report(event({ notBeforeAt: world.clock.now + hour }))
  delete world.relay.config.channels.chat
  world.relay.host.sharedSince = world.clock.now - sinceMs
  for (let i = 0; i < 5; i++) await world.pass(minute)
  expect(await stateOf('chat')).toBe(state)
  expect(await stateOf('hook')).toBe('delivered')
})
