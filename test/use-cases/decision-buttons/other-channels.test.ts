// If the readers of a channel cannot decide by its link, its messages name the approvers and do not
// ask. If anybody can decide, nothing changes.
import { expect, test } from 'vitest'
import { composeButton } from '../../../functions/core/message/message.ts'
import { sentTo } from '../../support/deliveries.ts'
import { startWithEvent, world } from '../../support/relay.ts'
import { slackDecides } from '../../support/slack-press.ts'

const inSlack = { approveIn: 'slack', approvers: ['slack:T0HOME/U0ADA'] }
const everywhere = { match: {}, channels: ['chat', 'team', 'pager'] }

/** Whether Teams, PagerDuty and Slack ask for a decision. */
async function asksIn(routes: object[]) {
  await startWithEvent({ ...slackDecides, routes })
  const [team, pager, chat] = ['teams', 'pager', 'slack'].map((host) => sentTo(world, host)[0]!)
  return {
    // the style of a button that asks
    team: team!.body.includes('"positive"'),
    pager: pager!.json.links[0].text === composeButton({ asks: true, declined: false }),
    chat: chat!.body.includes('"action_id":"approve"'),
  }
}

test('decided in Slack: Teams and PagerDuty only show the event', async () => {
  const asking = await asksIn([{ ...everywhere, ...inSlack }])
  expect(asking).toEqual({ team: false, pager: false, chat: true })
})

test('a list on a route for other events: the link decides, and the message asks', async () => {
  const listed = { match: { eventType: 'Freeze' }, channels: ['chat'], ...inSlack }
  const asking = await asksIn([everywhere, listed])
  expect(asking).toEqual({ team: true, pager: true, chat: false })
})
