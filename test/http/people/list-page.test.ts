// A message about several events has one link for all of them: a page with a decision for each, to
// which a person returns after each decision.
import { createHash, randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { createListToken, type ListToken, maxLinkLength } from '../../../functions/links/link.ts'
import { idOf, sentTo } from '../../support/deliveries.ts'
import { formsOf } from '../../support/form.ts'
import { forge, submit, textOf, watch } from '../../support/people.ts'
import { beacon, startRelay, world } from '../../support/relay.ts'
import { event, FakeBeacon, started, testKey } from '../../support/world.ts'

const count = 8
const wave = (from: number, until: number) =>
  Array.from({ length: until - from }, (_, i) =>
    event({ eventId: idOf(from + i), resources: [`vm${from + i}`] }),
  )

beforeEach(() => startRelay({}, { paced: true, vm: 'vm0' }))

/** The first has its own message, the others come as a list. */
async function strike(events = wave(0, count)): Promise<void> {
  await beacon.sees(events.slice(0, 1))
  await world.drain()
  await beacon.sees(events)
  await world.drain()
}

const allIn = (host: string): { url: string; text: string }[] => {
  const { json } = sentTo(world, host).at(-1)!
  if (host === 'slack') {
    const actions = json.blocks.find(({ type }: { type: string }) => type === 'actions')
    return actions.elements.map(({ url, text }: { url: string; text: { text: string } }) => {
      return { url, text: text.text }
    })
  }
  const { actions, body } = json.attachments[0].content
  const above = body.flatMap(({ type, ...part }: { type: string; actions?: object[] }) => {
    return type === 'ActionSet' ? part.actions! : []
  })
  return [...above, ...actions].map(({ url, title }: { url: string; title: string }) => ({
    url,
    text: title,
  }))
}

const pathOf = (host: string) => new URL(allIn(host)[0]!.url).pathname

async function forgeList(changes: Partial<ListToken> = {}) {
  const events = [1, 2].map((i) => ({ fleet: 'prod', eventId: idOf(i) }))
  const list = { channel: 'chat', issuedAt: world.clock.now, events, ...changes }
  return `/approve/${await createListToken(world.relay.credentials.linkKeys, list)}`
}

async function itemsOf(path: string) {
  const html = await (await world.app.request(path)).text()
  return { html, forms: formsOf(html) }
}

const approvals = async (i: number) => (await world.getEvent(idOf(i))).body.approvals.length

describe.each(['slack', 'teams'])('%s', (host) => {
  test('a list has one button for all, and its page a decision for each', async () => {
    await strike()
    expect(allIn(host)).toHaveLength(1)
    const { html, forms } = await itemsOf(pathOf(host))
    expect(html).toContain(`${count - 1} events, ${count - 1} to decide`)
    expect(forms.map(({ event }) => Number(event))).toEqual([...Array(count - 1).keys()])
    expect(new Set(forms.map(({ form }) => form)).size).toBe(count - 1)
    for (let i = 1; i < count; i++) expect(html).toContain(`Reboot of vm${i}<`)
  })
})

test('a message of one event has no button for all', async () => {
  await beacon.sees(wave(0, 1))
  await world.drain()
  expect(allIn('teams').map(({ text }) => text)).toEqual([
    'Open to decide',
    'VM in the Azure portal',
  ])
})

test('a decision returns to the list with its outcome, and decides nothing else', async () => {
  await strike()
  const path = pathOf('slack')
  const { forms } = await itemsOf(path)
  const response = await submit(world, path, { ...forms[2]!, decision: 'approve' })
  expect(response.status).toBe(200)
  const text = await textOf(response)
  expect(text).toContain(`${count - 1} events, ${count - 2} to decide`)
  expect(await Promise.all([2, 3, 4].map(approvals))).toEqual([0, 1, 0])
})

test('one event of a list has its own page behind the same link, which can decide', async () => {
  await strike()
  const path = `${pathOf('slack')}?event=2`
  const { html, forms } = await itemsOf(path)
  expect(html).toContain('id="timeline"')
  expect(html).toContain('Reboot of vm3<')
  const response = await submit(world, path, { ...forms[0]!, decision: 'approve' })
  expect(response.status).toBe(200)
  expect(await Promise.all([2, 3, 4].map(approvals))).toEqual([0, 1, 0])
  expect(await textOf(await watch(world, path))).toContain('Approved')
})

test('events with the same text show their ids, others do not', async () => {
  const alike = [1, 2].map((i) => event({ eventId: idOf(i), resources: ['vm'] }))
  await strike([...alike, event({ eventId: idOf(3), resources: ['other'] })])
  const path = await forgeList({
    events: [1, 2, 3].map((i) => ({ fleet: 'prod', eventId: idOf(i) })),
  })
  const text = await textOf(await world.app.request(path))
  expect(text).toMatch(/Reboot of vm …00000001 .* Reboot of vm …00000002 .* Reboot of other The VM/)
})

test('if only Slack can decide, a list says that its message has no buttons', async () => {
  const approvers = ['slack:T0123ABCD/U0123ABCD']
  const slackApp = { signingSecret: '0123456789abcdef0123456789abcdef', team: 'T0123ABCD' }
  const route = { match: {}, channels: ['chat', 'hook'], approvers, approveIn: 'slack' as const }
  await startRelay({ routes: [route], slackApp }, { paced: true, vm: 'vm0' })
  await strike()
  // Each event has its own message, so a list comes from another channel or an older message.
  const text = await textOf(await world.app.request(await forgeList()))
  expect(text).toMatch(/own message in "chat" \(a message about several events has none\)/)
  expect(text).toContain('or with the admin key')
  const alone = await textOf(await world.app.request(await forge(world, { eventId: idOf(1) })))
  expect(alone).toContain('the buttons of the message in "chat"')
})

test.each(['99', '-1', '1.0', '', 'x', '007'])('a list has no place %j', async (event) => {
  await strike()
  const path = pathOf('slack')
  const { forms } = await itemsOf(path)
  expect((await world.app.request(`${path}?event=${event}`)).status).toBe(404)
  const answer = await submit(world, path, { ...forms[0]!, event, decision: 'approve' })
  expect(answer.status).toBe(403)
  for (let i = 0; i < count; i++) expect(await approvals(i)).toBe(0)
})

test('no page of a list contains a link that decides', async () => {
  await strike()
  for (const query of ['', '?event=1']) {
    const html = await (await world.app.request(pathOf('slack') + query)).text()
    const [id = ''] = pathOf('slack').slice('/approve/'.length).split('.')
    expect(html).not.toContain(`${id}.`)
    expect(html).not.toContain('/approve/')
  }
})

test('the form of one event decides no other event, in the list or outside', async () => {
  await strike()
  const path = pathOf('slack')
  const { forms } = await itemsOf(path)
  const { form = '' } = forms[2]!
  const tries: [string, string][] = [
    [path, '3'],
    [`${path}?event=3`, '2'],
    [await forge(world, { eventId: idOf(3) }), '2'],
    [await forgeList({ events: [{ fleet: 'prod', eventId: idOf(3) }] }), '0'],
  ]
  for (const [to, event] of tries) {
    expect((await submit(world, to, { form, event, decision: 'approve' })).status).toBe(403)
  }
  for (let i = 0; i < count; i++) expect(await approvals(i)).toBe(0)
})

test('an event that has changed says so in its place, and the others stay decidable', async () => {
  await strike()
  const path = pathOf('slack')
  const { forms } = await itemsOf(path)
  const [, , ...others] = wave(0, count)
  const grown = event({ eventId: idOf(1), resources: ['vm1', 'vm2'] })
  await beacon.sees([...wave(0, 1), grown, ...others])
  const response = await submit(world, path, { ...forms[0]!, decision: 'approve' })
  expect(response.status).toBe(409)
  const text = await textOf(response)
  expect(text).toContain('Reboot of vm1, vm2')
  expect(text).toContain(`${count - 1} to decide`)
})

test('without the place of an event or its form, the list decides nothing', async () => {
  await strike()
  const path = pathOf('slack')
  const [first] = (await itemsOf(path)).forms
  for (const fields of [{}, { form: first!.form! }, { event: first!.event! }]) {
    expect((await submit(world, path, { ...fields, decision: 'approve' })).status).toBe(403)
  }
  for (let i = 0; i < count; i++) expect(await approvals(i)).toBe(0)
})

test('each event has its own state: decided, started, over, of another fleet, unknown', async () => {
  await strike(wave(0, 4))
  await new FakeBeacon(world, 'db_0', { fleet: 'test', key: testKey }).sees([
    event({ eventId: idOf(2), resources: ['db_0'] }),
  ])
  await beacon.sees([started({ eventId: idOf(1), resources: ['vm1'] }), ...wave(2, 4)])
  const places: [string, number][] = [
    ['prod', 1],
    ['prod', 2],
    ['test', 2],
    ['prod', 99],
  ]
  const events = places.map(([fleet, i]) => ({ fleet, eventId: idOf(i) }))
  const { html, forms } = await itemsOf(await forgeList({ events }))
  expect(html).toContain('4 events, 2 to decide')
  expect(html).toContain('It started just now.')
  expect(html).toContain('Reboot of db_0')
  expect(html).toContain('This event ended long ago')
  expect(forms.map(({ event }) => event)).toEqual(['1', '2'])
})

test('an open page polls all of its events in one request', async () => {
  await strike(wave(0, 3))
  const path = await forgeList({
    events: [1, 2, 99].map((i) => ({ fleet: 'prod', eventId: idOf(i) })),
  })
  const first = await watch(world, path)
  const etag = first.headers.get('etag')!
  expect((await watch(world, path, { etag })).status).toBe(304)
  await beacon.sees(wave(0, 3).map((one) => ({ ...one, status: 'Started' as const })))
  expect((await watch(world, path, { etag })).status).toBe(200)
})

test('the link of a list expires after 9 days, and a changed one is not valid', async () => {
  await strike(wave(0, 3))
  const old = await forgeList({ issuedAt: world.clock.now - 9 * 86_400_000 - 1 })
  expect((await world.app.request(old)).status).toBe(410)
  const [id, content = '', mac] = (await forgeList()).split('.')
  const other = `${content.slice(0, 8)}${content[8] === 'A' ? 'B' : 'A'}${content.slice(9)}`
  expect((await world.app.request([id, other, mac].join('.'))).status).toBe(403)
})

test('opening it makes the beacons of all its events report more often', async () => {
  const far = wave(0, 3).map((one) => ({ ...one, notBeforeAt: one.notBeforeAt! + 3 * 3_600_000 }))
  await strike(far)
  expect((await beacon.sees(far)).paceMs).toBe(60_000)
  await world.app.request(pathOf('slack'))
  expect((await beacon.sees(far)).paceMs).toBe(2_000)
})

test('the link of ten events fits a field of 512 characters', async () => {
  const events = Array.from({ length: 10 }, () => ({ fleet: 'prod', eventId: randomUUID() }))
  const path = await forgeList({ events, channel: 'ops-pushover' })
  expect(path.length).toBeLessThan(512 - 'https://foghorn.contoso-internal.example'.length)
})

test('a link for very long names would be too long for a button, so there is none', async () => {
  // as random text: the link is compressed
  const digest = (text: string) => createHash('sha512').update(text).digest('base64url')
  const long = (i: number) =>
    [0, 1, 2]
      .map((k) => digest(`${i} ${k}`))
      .join('')
      .slice(0, 255)
  await strike(
    Array.from({ length: 12 }, (_, i) => event({ eventId: long(i), resources: [`vm${i}`] })),
  )
  expect(
    sentTo(world, 'slack')
      .at(-1)!
      .json.blocks.map(({ type }: { type: string }) => type),
  ).not.toContain('actions')
})

test('with usual ids the longest possible link is short enough', async () => {
  const events = Array.from({ length: 20 }, (_, i) => ({ fleet: 'x'.repeat(64), eventId: idOf(i) }))
  const path = await forgeList({ channel: 'y'.repeat(64), events })
  expect(path.length + 'https://foghorn-of-a-long-name.azurewebsites.net'.length).toBeLessThan(
    maxLinkLength,
  )
})
