// Which messages have deciding buttons: only those of an event and a channel that a route chose,
// and only while there is something to decide.
import { beforeEach, describe, expect, test } from 'vitest'
import { botChannel, buttonsOf, createSlackBot, type SlackBot } from '../../support/slack-bot.ts'
import {
  actionOf,
  approvalsOf,
  elementsIn,
  formOf,
  payloadOf,
  personOf,
  postSigned,
  pressInSlack,
  repliesIn,
  slackDecides,
  toldInPrivate,
} from '../../support/slack-press.ts'
import {
  createWorld,
  event,
  eventId,
  FakeBeacon,
  started,
  usualAnswer,
  type World,
} from '../../support/world.ts'

const { slackApp } = slackDecides
const minute = 60_000

const idsOf = (elements: { action_id?: string }[]) => elements.map(({ action_id }) => action_id)

async function tell(config: object, ...events: ReturnType<typeof event>[]): Promise<World> {
  const world = await createWorld({ config })
  await new FakeBeacon(world, 'web_0', { vm: { tags: { app: 'db' } } }).sees(events)
  await world.drain()
  return world
}

describe('a webhook of Slack', () => {
  const decides = ['approve', 'not_now', 'open']
  const inSlack = { approveIn: 'slack' }
  const routings: [string, object[], string[]][] = [
    ['no setting: the page decides', [{ match: {} }], ['open']],
    ['an explicit "page"', [{ match: {}, approveIn: 'page' }], ['open']],
    ['Slack', [{ match: {}, ...inSlack }], decides],
    [
      'Slack, for other events',
      [{ match: {} }, { match: { eventType: 'Freeze' }, ...inSlack }],
      ['open'],
    ],
    ['Slack, by a tag of its VM', [{ match: { tag: 'app=db' }, ...inSlack }], decides],
    ['Slack, for other VMs', [{ match: {} }, { match: { tag: 'app=web' }, ...inSlack }], ['open']],
  ]

  test.each(routings)('%s', async (_, routes, ids) => {
    const named = routes.map((route) => ({ channels: ['chat', 'team'], ...route }))
    const world = await tell({ slackApp, routes: named }, event())
    expect(idsOf(elementsIn(world))).toEqual(ids)
    // Teams cannot send a press back
    expect(world.sent.find(({ url }) => url.includes('teams'))!.body).not.toContain('not_now')
  })

  test('listed people are sent to Slack only if a message there has the buttons', async () => {
    const approvers = ['slack:T0HOME/U0ADA']
    const saidWith = async (route: object) => {
      const routes = [
        { match: {}, channels: ['team'] },
        { match: {}, channels: ['chat'], ...route },
      ]
      const world = await tell({ slackApp, routes }, event())
      return world.sent.find(({ url }) => url.includes('teams'))!.body
    }
    expect(await saidWith({ approvers, ...inSlack })).toContain('use the buttons in Slack')
    expect(await saidWith({ approvers })).toContain('No listed approver may decide')
  })

  test('an event that a rule only notifies of has none', async () => {
    const policy = [{ match: {}, decide: 'notify' }]
    expect(idsOf(elementsIn(await tell({ ...slackDecides, policy }, event())))).toEqual(['open'])
  })

  test('if the id is too long for a button, the message has only the link', async () => {
    const world = await tell(slackDecides, event({ eventId: '\u0001'.repeat(256) }))
    expect(idsOf(elementsIn(world))).toEqual(['open'])
  })
})

describe('a bot of Slack', () => {
  let slack: SlackBot
  let world: World
  let beacon: FakeBeacon

  async function begin(route: object = {}): Promise<void> {
    slack = createSlackBot()
    const channels = { bot: botChannel }
    const routes = [{ match: {}, channels: ['bot'], approveIn: 'slack', ...route }]
    world = await createWorld({ config: { slackApp, channels, routes } })
    world.channels.answer = (request) =>
      request.url.startsWith(botChannel.endpoint)
        ? slack.answer(request.url, request)
        : usualAnswer(request)
    beacon = new FakeBeacon(world, 'web_0')
    await beacon.sees([event()])
    await world.drain()
  }

  beforeEach(() => begin())

  type Button = { action_id?: string; value?: string }
  const buttons = () => buttonsOf(slack.messages()[0]!) as Button[]
  const press = (action: string, person = 'U0ADA') => {
    const { value } = buttons()[0]!
    return postSigned(
      world,
      formOf(payloadOf(value!, { ...personOf(person), ...actionOf(value!, action) })),
    )
  }

  test('has them, and the edit that shows the decision removes them', async () => {
    expect(idsOf(buttons())).toEqual(['approve', 'not_now', 'open'])
    await press('approve')
    expect(repliesIn(world)).toEqual([])
    await world.drain()
    expect(buttons()).toEqual([])
    expect(slack.messages()[0]!.text).toContain('Approved by <@U0ADA>')
    expect(slack.calls.map(({ valid }) => valid)).toEqual([true, true, true])
  })

  test('after "not now" Approve stays until the start', async () => {
    await press('not_now')
    await world.drain()
    expect(idsOf(buttons())).toEqual(['approve', 'open'])
    await beacon.sees([started()])
    await world.drain()
    expect(buttons()).toEqual([])
  })

  test('the second of two presses is answered in private, and the message stays', async () => {
    const second = buttons()[0]!.value!
    await press('approve')
    await world.drain()
    const edits = slack.calls.length
    await pressInSlack(world, { value: second, person: 'U0BOB' })
    expect(toldInPrivate(world)).toContain('Approved by <@U0ADA>')
    expect(slack.calls).toHaveLength(edits)
  })

  test('if no route notifies it of the decision, the press itself removes them', async () => {
    await begin({ moments: ['scheduled'] })
    await press('approve')
    expect(repliesIn(world)).toMatchObject([{ replace_original: true }])
    expect(await approvalsOf(world, eventId)).toHaveLength(1)
  })

  test('a reminder shows them again below the newest message', async () => {
    await begin({ remindBeforeSeconds: 300 })
    await world.pass(11 * minute)
    expect(slack.messages()[0]!.text).toContain('Still undecided')
    expect(idsOf(buttons())).toEqual(['approve', 'not_now', 'open'])
  })
})
