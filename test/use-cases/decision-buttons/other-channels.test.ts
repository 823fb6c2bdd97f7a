// Channels whose readers may not decide by their link say who does, and ask for nothing; of whom is asked where
// anybody may, nothing changes.
import { expect, test } from 'vitest'
import { sentTo } from '../../support/deliveries.ts'
import { slackDecides } from '../../support/slack-press.ts'
import { createWorld, event, FakeBeacon } from '../../support/world.ts'

const inSlack = { approveIn: 'slack', approvers: ['slack:T0HOME/U0ADA'] }
const everywhere = { match: {}, channels: ['chat', 'team', 'pager'] }

async function tell(routes: object[]) {
  const world = await createWorld({ config: { ...slackDecides, routes } })
  await new FakeBeacon(world, 'web_0').sees([event()])
  await world.drain()
  const [team, pager, chat] = ['teams', 'pager', 'slack'].map((host) => sentTo(world, host)[0]!)
  return { team: team!.body, pager: pager!.json, chat: chat!.body }
}

test('decided in Slack: Teams and PagerDuty show the event and say where', async () => {
  const { team, pager, chat } = await tell([{ ...everywhere, ...inSlack }])
  for (const text of [team, JSON.stringify(pager)]) {
    expect(text).toContain('Only listed approvers can decide, by the buttons in Slack.')
    expect(text).not.toMatch(/to approve|Open to decide/)
  }
  expect(team).toContain('"title":"Show event"')
  expect(team).not.toContain('positive')
  expect(pager.links[0].text).toBe('Show event')
  // where the buttons are, it asks
  expect(chat).toContain('Approve to start it now')
  expect(chat).toContain('"action_id":"approve"')
})

test('a route for other events, with a list: the link decides, and the message asks', async () => {
  const listed = { match: { eventType: 'Freeze' }, channels: ['chat'], ...inSlack }
  const { team, pager } = await tell([everywhere, listed])
  expect(team).toContain('Open its page to approve, which starts it now')
  expect(team).toContain('"title":"Open to decide"')
  expect(pager.links[0].text).toBe('Open to decide')
})
