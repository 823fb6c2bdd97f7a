// A wave of events: a chat gets the first at once and the others as lists, at its own pace.
// Webhooks and PagerDuty get each event by itself.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { answer, down, idOf, sentTo, words } from '../../support/deliveries.ts'
import { press } from '../../support/people.ts'
import { beacon, startRelay, world } from '../../support/relay.ts'
import { event, usualAnswer } from '../../support/world.ts'

const count = 30

beforeEach(() => startRelay({}, { paced: true, vm: 'vm0' }))
afterEach(() => world.store.close())

const wave = (from: number, until: number, changes = {}) =>
  Array.from({ length: until - from }, (_, i) =>
    event({ eventId: idOf(from + i), resources: [`vm${from + i}`], ...changes }),
  )

/** Reports and sends the first event. The others come while the channels pause. */
async function strike(): Promise<void> {
  await beacon.sees(wave(0, 1))
  await world.drain()
  await beacon.sees(wave(0, count))
  await world.drain()
}

const texts = (host: string) => sentTo(world, host).map(({ body }) => body)
const shownIn = (body: string) =>
  Array.from({ length: count }, (_, i) => i).filter((i) => body.includes(`of vm${i} `))

test('Slack gets the first alone, then lists, at most one message a second', async () => {
  await strike()
  expect(texts('slack').map((body) => shownIn(body).length)).toEqual([1, 20])
  await world.pass(999)
  expect(texts('slack')).toHaveLength(2)
  await world.pass(1)
  expect(texts('slack').map((body) => shownIn(body).length)).toEqual([1, 20, 9])
  await world.pass(60_000)
  expect(texts('slack')).toHaveLength(3)
})

test('every event is notified once, with its own link and row', async () => {
  await strike()
  await world.pass(1_000)
  await world.pass(1_000)
  for (const host of ['slack', 'teams']) {
    const shown = texts(host).flatMap(shownIn)
    expect(shown.toSorted((a, b) => a - b)).toEqual([...Array(count).keys()])
    const links = texts(host).flatMap((body) => body.match(/approve\/[\w.-]+/g) ?? [])
    // and one for the whole list
    expect(new Set(links).size).toBe(count + texts(host).length - 1)
  }
  for (let i = 0; i < count; i++) {
    const { body } = await world.getEvent(idOf(i))
    const row = body.deliveries.find(({ channel }: { channel: string }) => channel === 'chat')
    expect(row).toMatchObject({ moment: 'scheduled', state: 'delivered', attempts: 1 })
  }
})

test('a button of a list decides only its own event', async () => {
  await strike()
  const list = sentTo(world, 'slack')[1]!.json
  const section = list.blocks.find((block: { text?: { text: string } }) =>
    block.text?.text.includes('of vm7 '),
  )
  const { pathname } = new URL(section.accessory.url)
  const response = await press(world, pathname, 'approve')
  expect(response.status).toBe(200)
  const approvals = async (i: number) => (await world.getEvent(idOf(i))).body.approvals.length
  expect([await approvals(6), await approvals(7), await approvals(8)]).toEqual([0, 1, 0])
})

test('PagerDuty and webhooks get each event by itself', async () => {
  await strike()
  expect(texts('hook')).toHaveLength(count)
  for (let seconds = 0; seconds < 30; seconds++) await world.pass(1_000)
  const keys = sentTo(world, 'pager').map(({ json }) => json.dedup_key)
  expect(keys).toHaveLength(count)
  expect(new Set(keys).size).toBe(count)
})

describe('a list that fails', () => {
  test('429: no worker sends to that channel before Retry-After, then all is sent', async () => {
    const limited = () => new Response('', { status: 429, headers: { 'retry-after': '7' } })
    answer(world, 'slack', limited)
    await strike()
    expect(texts('slack')).toHaveLength(1)
    world.channels.answer = usualAnswer
    for (let ms = 0; ms < 6_900; ms += 100) await world.pass(100)
    expect(texts('slack')).toHaveLength(1)
    for (let seconds = 0; seconds < 10; seconds++) await world.pass(1_000)
    const told = texts('slack').slice(1).flatMap(shownIn)
    expect(told.toSorted((a, b) => a - b)).toEqual([...Array(count).keys()])
  })

  test.each([
    ['503', down],
    ['an error without an answer', () => Promise.reject(new TypeError('fetch failed'))],
  ])('%s: it stays a list, and is sent again as one', async (_, fail) => {
    // if the list were split, each message would have its own wait
    let draws = 0
    world.relay.random = () => (draws++ % 10) / 10
    await beacon.sees(wave(0, 1))
    await world.drain()
    world.channels.answer = (request) =>
      /slack|teams/.test(request.url) ? fail() : usualAnswer(request)
    await beacon.sees(wave(0, 12))
    await world.pass(1_000)
    world.channels.answer = usualAnswer
    const failed = { slack: texts('slack').length, teams: texts('teams').length }
    for (let ms = 0; ms < 30_000; ms += 250) await world.pass(250)
    for (const host of ['slack', 'teams'] as const) {
      const told = texts(host)
        .slice(failed[host])
        .map((body) => shownIn(body).length)
      expect([host, told]).toEqual([host, [11]])
    }
  })

  test('refused: the fallback gets lists, too', async () => {
    world.store.close()
    await startRelay(
      {
        channels: {
          chat: { kind: 'slack', url: 'https://slack.example/a', fallback: 'team' },
          team: { kind: 'teams', url: 'https://teams.example/b' },
        },
        routes: [{ match: {}, channels: ['chat'] }],
      },
      { paced: true, vm: 'vm0' },
    )
    answer(world, 'slack', () => new Response('no_service', { status: 404 }))
    await strike()
    for (let seconds = 0; seconds < 40; seconds++) await world.pass(1_000)
    const told = texts('teams').flatMap(shownIn)
    expect(told.toSorted((a, b) => a - b)).toEqual([...Array(count).keys()])
    const notices = texts('teams').filter((body) => body.includes(words.refuses))
    expect(notices).toHaveLength(1)
    expect(texts('teams').length).toBeLessThanOrEqual(6)
    expect(texts('slack').length).toBeLessThanOrEqual(3)
  })
})

test('a step that another one has overtaken is not in the list', async () => {
  await strike()
  await world.pass(0)
  await beacon.sees(wave(21, count))
  await beacon.sees(wave(21, count, { status: 'Started' }))
  // the steps that are not sent take a turn of the channel
  await world.pass(1_000)
  await world.pass(1_000)
  const [, , last] = texts('slack')
  expect(last).toMatch(/Started at .*: Reboot of vm25/)
  expect(last).toContain('missed earlier messages: ')
  expect(last).not.toContain(`Reboot of vm25 in`)
})
