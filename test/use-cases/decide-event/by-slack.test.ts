// Decisions by a button in Slack: who can decide, what follows, and what the message or a private
// answer says.
import { beforeEach, describe, expect, test } from 'vitest'
import { forge } from '../../support/people.ts'
import { beacon, minute, startWithEvent, world } from '../../support/relay.ts'
import {
  ada,
  approvalsOf,
  bob,
  elementsIn,
  formOf,
  payloadOf,
  postSigned,
  pressInSlack,
  repliesIn,
  slackDecides,
  toldInPrivate,
  valueIn,
} from '../../support/slack-press.ts'
import { event, eventId, started, type World } from '../../support/world.ts'

const [route] = slackDecides.routes
const listing = (...approvers: string[]) => ({ ...slackDecides, routes: [{ ...route, approvers }] })

const begin = (config: object = slackDecides) => startWithEvent(config)

beforeEach(() => begin())

const approvals = () => approvalsOf(world, eventId)

describe('a press', () => {
  test('approves: recorded with team and user, notified, and passed on by the next report', async () => {
    const response = await pressInSlack(world)
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect(await approvals()).toEqual([
      { decision: 'approved', how: 'slack', who: 'T0HOME/U0ADA', at: '2026-11-21T12:00:00.000Z' },
    ])
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.scheduled', 'foghorn.event.approved'])
    expect((await beacon.sees([event()])).directives).toMatchObject([{ eventId }])
  })

  test('is told with the name that Slack has, beside the id, which is a mention in Slack', async () => {
    await pressInSlack(world, { name: 'ada' })
    expect(await approvals()).toMatchObject([{ who: 'T0HOME/U0ADA', name: 'ada' }])
    expect(repliesIn(world)[0].text).toContain('approved by ada (<@U0ADA>), at 12:00 UTC.')
    const page = await world.app.request(await forge(world))
    const timeline = (await page.text()).split('Timeline')[1]
    expect(timeline).toContain('Approved by ada (Slack user U0ADA)')
  })

  test('one line names the person instead of the message, and the decision has a message of its own', async () => {
    await pressInSlack(world)
    const [reply, ...others] = repliesIn(world)
    expect(others).toEqual([])
    expect(reply).toMatchObject({ replace_original: true })
    const who = 'approved by <@U0ADA> (team T0HOME, signed by Slack), at 12:00 UTC.'
    expect(reply.text).toBe(`Reboot of web_0: ${who}`)
    expect(reply.blocks.map(({ type }: { type: string }) => type)).toEqual(['section'])
    await world.drain()
    expect(elementsIn(world).map(({ action_id }) => action_id)).toEqual(['open'])
  })

  test('"not now": Azure gets nothing, and one Approve button is left', async () => {
    await pressInSlack(world, { action: 'not_now' })
    expect((await beacon.sees([event()])).directives).toEqual([])
    expect(JSON.stringify(repliesIn(world)[0])).not.toContain('button')
    await world.drain()
    // the newer one of the two
    expect(elementsIn(world).map(({ action_id }) => action_id)).toEqual(['approve', 'open'])
    await pressInSlack(world, { person: bob })
    expect((await approvals()).map(({ who }) => who)).toEqual(['T0HOME/U0ADA', 'T0HOME/U0BOB'])
  })
})

describe('permission', () => {
  const other = 'T0OTHER'
  const people: [string, string[] | undefined, object, 'decided' | RegExp][] = [
    ['anybody of the team if nobody is listed', undefined, {}, 'decided'],
    ['a listed person', ['slack:T0HOME/U0ADA'], {}, 'decided'],
    ['another person of the team', ['slack:T0HOME/U0BOB'], {}, /not a listed approver/],
    ['the same user id of another team', ['slack:T0HOME/U0ADA'], { team: other }, /not from this/],
    ['another team if nobody is listed', undefined, { team: other }, /not from this workspace/],
    ['another team that is listed by name', ['slack:T0OTHER/U0ADA'], { team: other }, 'decided'],
  ]

  test.each(people)('%s', async (_, approvers, press, said) => {
    await begin(approvers === undefined ? slackDecides : listing(...approvers))
    expect((await pressInSlack(world, press)).status).toBe(200)
    if (said === 'decided') return expect(await approvals()).toHaveLength(1)
    expect(await approvals()).toEqual([])
    expect(toldInPrivate(world)).toMatch(said)
  })

  test('a person who is listed for other events only is no guest here', async () => {
    const guest = { match: { eventType: 'Freeze' }, channels: ['chat'], approveIn: 'slack' }
    const routes = [{ ...guest, approvers: ['slack:T0OTHER/U0ADA'] }, route]
    await begin({ ...slackDecides, routes })
    await pressInSlack(world, { team: other })
    expect(await approvals()).toEqual([])
    expect(toldInPrivate(world)).toContain('not from this workspace')
  })

  test.each([
    ['only the team of the place', { user: { id: ada } }, 1],
    ["another team's person in our place", { user: { id: ada, team_id: other } }, 0],
    ['an app of an organisation: no place', { user: { id: ada, team_id: 'E0ORG' }, team: null }, 0],
  ])('%s', async (_, changes, count) => {
    await postSigned(world, formOf(payloadOf(valueIn(world), changes)))
    expect(await approvals()).toHaveLength(count)
  })

  test('a listed organisation counts as the team', async () => {
    const slackApp = { ...slackDecides.slackApp, team: ['T0HOME', 'E0ORG'] }
    await begin({ ...slackDecides, slackApp })
    const changes = { user: { id: ada, team_id: 'E0ORG' }, team: null }
    await postSigned(world, formOf(payloadOf(valueIn(world), changes)))
    expect(await approvals()).toMatchObject([{ who: 'E0ORG/U0ADA' }])
  })

  test('a display name identifies nobody', async () => {
    await begin(listing('slack:T0HOME/U0BOB'))
    const user = { id: ada, team_id: 'T0HOME', name: 'U0BOB', username: 'U0BOB' }
    await postSigned(world, formOf(payloadOf(valueIn(world), { user })))
    expect(await approvals()).toEqual([])
  })
})

describe('too late', () => {
  test('if two people press at once, one decides, and the other gets the name in private', async () => {
    await Promise.all([pressInSlack(world), pressInSlack(world, { person: bob })])
    const [{ who }, ...others] = await approvals()
    expect(others).toEqual([])
    const told = repliesIn(world).filter((one) => one.response_type === 'ephemeral')
    expect(told).toHaveLength(1)
    const [team, user] = who.split('/')
    expect(told[0].text).toContain(`Approved by <@${user}> (team ${team}, signed by Slack)`)
    expect(told[0].text).toContain('at 12:00 UTC')
    await world.drain()
    expect(world.told().filter((one) => one.endsWith('approved'))).toHaveLength(1)
  })

  test.each<[string, () => Promise<unknown>, RegExp]>([
    ['it has started', () => beacon.sees([started()]), /too late: it started at 12:00 UTC/],
    [
      'the event is gone',
      () => beacon.sees([]).then(() => world.pass(11_000)),
      /too late: it was probably cancelled/,
    ],
    [
      'it affects other VMs',
      () => beacon.sees([event({ resources: ['web_0', 'web_1'] })]),
      /changed or was decided after this message/,
    ],
    [
      'it is back after it was gone',
      () =>
        beacon
          .sees([])
          .then(() => world.pass(11_000))
          .then(() => beacon.sees([event()])),
      /changed or was decided after this message/,
    ],
    [
      'a person already said "not now"',
      () => pressInSlack(world, { action: 'not_now', person: bob }),
      /already decided.*Left to Azure by <@U0BOB>.*can still approve/,
    ],
  ])('%s', async (_, happens, said) => {
    const value = valueIn(world)
    await happens()
    await pressInSlack(world, { value, action: 'not_now' })
    expect((await approvals()).filter(({ decision }) => decision === 'approved')).toEqual([])
    expect(toldInPrivate(world)).toMatch(said)
  })

  test('a moved time invalidates no button', async () => {
    const value = valueIn(world)
    await beacon.sees([event({ notBeforeAt: world.clock.now + 60 * minute })])
    await pressInSlack(world, { value })
    expect(await approvals()).toHaveLength(1)
  })

  test('days after the end', async () => {
    const value = valueIn(world)
    await beacon.sees([])
    await world.pass(11_000)
    await world.pass(25 * 60 * minute)
    await pressInSlack(world, { value })
    expect(toldInPrivate(world)).toContain('expired')
  })
})

describe('a button that the relay did not make', () => {
  const stampIn = () => valueIn(world).split(':')[1]
  const tokenOf = async (
    ...of: Parameters<typeof forge> extends [World, ...infer Rest] ? Rest : []
  ) => (await forge(world, ...of)).slice('/approve/'.length)

  test.each<[string, () => Promise<string>, RegExp]>([
    ['nothing', async () => '', /another relay made this button/],
    ['no stamp', async () => valueIn(world).split(':')[0]!, /another relay made this button/],
    ['another stamp', async () => `${valueIn(world)}0`, /another relay made this button/],
    ['trailing text', async () => `${valueIn(world)}:1`, /another relay made this button/],
    ['cut off', async () => valueIn(world).slice(5), /another relay made this button/],
    [
      'another key',
      async () => `${await tokenOf({}, [new Uint8Array(32).fill(9)])}:${stampIn()}`,
      /another relay made this button/,
    ],
    [
      'an unknown event',
      async () => `${await tokenOf({ eventId: 'other' })}:${stampIn()}`,
      /has removed this event/,
    ],
    [
      'the link of a channel that decides nothing',
      async () => `${await tokenOf({ channel: 'hook' })}:${stampIn()}`,
      /people in this channel may no longer decide this event/,
    ],
    [
      'a channel that is not configured',
      async () => `${await tokenOf({ channel: 'constructor' })}:${stampIn()}`,
      /no longer in the configuration/,
    ],
  ])('%s', async (_, value, said) => {
    expect((await pressInSlack(world, { value: await value() })).status).toBe(200)
    expect(await approvals()).toEqual([])
    expect(toldInPrivate(world)).toMatch(said)
  })

  test('a route that now decides on the page', async () => {
    const value = valueIn(world)
    world.relay.config = { ...world.relay.config, routes: [{ match: {}, channels: ['chat'] }] }
    await pressInSlack(world, { value })
    expect(await approvals()).toEqual([])
    expect(toldInPrivate(world)).toContain('people in this channel may no longer decide this event')
  })
})
