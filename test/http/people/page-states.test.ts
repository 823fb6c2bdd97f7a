// Every state of the page: its buttons, its texts (`golden/pages.txt`), and what an open page polls.
// Look at changed texts (`npm run preview`) before you accept them:
//   FOGHORN_GOLDEN=write npm test -- test/http/people/page-states.test.ts
import { beforeEach, describe, expect, test } from 'vitest'
import type { LiveState } from '../../../functions/pages/state.ts'
import { pageScenes } from '../../preview/page-scenes.ts'
import { buttonsOf } from '../../support/form.ts'
import { goldenTexts } from '../../support/golden.ts'
import { forge, linkOf, press } from '../../support/people.ts'
import { beacon, eventNow, startWithEvent, world } from '../../support/relay.ts'
import { event, startAt, started } from '../../support/world.ts'

const scenes = await pageScenes()

const changed = 'This event changed after you opened the page.'
const onEveryPage = ['', 'Foghorn', changed, 'Reload to see the current state.']

/** A line for each block of the page. */
function readableOf(html: string): string[] {
  return html
    .replace(/<(style|script|title)>[\s\S]*?<\/\1>/g, '')
    .replace(/<button[^>]*>([^<]*)<\/button>/g, ' [$1] ')
    .replace(/<\/dt>\s*<dd[^>]*>/g, ': ')
    .replace(
      /<\/?(h\d|p|li|d[ltd]|div|section|article|form|ol|ul|summary|main|header|footer)\b[^>]*>/g,
      '\n',
    )
    .replace(/<[^>]+>/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => !onEveryPage.includes(line))
}

/** Names the details that the open page has, too. */
function shorten(lines: string[], ofOpenPage: string[]): string[] {
  const details = ofOpenPage.slice(
    ofOpenPage.indexOf('Details') + 1,
    ofOpenPage.indexOf('Timeline'),
  )
  const same = lines.filter((line) => details.includes(line))
  const names = same.map((line) => line.split(':', 1)[0])
  const others = lines.filter((line) => !details.includes(line))
  return same.length === 0
    ? others
    : others.toSpliced(others.indexOf('Details') + 1, 0, `As in "open": ${names.join(', ')}`)
}

test('no page contains invisible characters or direction marks', () => {
  const shown = Object.entries(scenes).filter(([, html]) =>
    /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/u.test(html),
  )
  expect(shown.map(([name]) => name)).toEqual([])
})

describe('every state', () => {
  const open = readableOf(scenes.open!)
  const texts = Object.fromEntries(
    Object.entries(scenes).map(([name, html]) => {
      const lines = readableOf(html)
      return [name, (name === 'open' ? lines : shorten(lines, open)).join('\n')]
    }),
  )
  const golden = goldenTexts(new URL('golden/pages.txt', import.meta.url), texts)

  test('has a golden text, and there are no others', () => {
    expect(Object.keys(golden)).toEqual(Object.keys(scenes))
  })

  test.each(Object.keys(scenes))('"%s" reads like its golden text', (name) => {
    expect(texts[name]).toBe(golden[name])
  })

  const undecided = ['open', 'open, many VMs', 'open, days ahead', 'open, its time has come']
    .concat(['open, time not known', 'lapsed, to decide again', 'back after its end'])
    .concat(['drill', 'hostile names', 'moved on', 'hooks, not ready', 'hooks, asked to prepare'])
  const declined = ['declined', 'declined now', 'too quick']
  const ofOneEvent = Object.keys(scenes).filter((name) => name !== 'a list')

  test.each(ofOneEvent)('"%s" has the buttons that still decide, and no other', (name) => {
    const preparable = name === 'hooks, a rule waits'
    const expected = undecided.includes(name)
      ? ['approve', 'not_now']
      : preparable
        ? ['approve', 'not_now', 'prepare']
        : declined.filter((one) => one === name).map(() => 'approve')
    expect(buttonsOf(scenes[name]!)).toEqual(expected)
  })

  test.each(Object.entries(scenes))('%s: labelled, in one language, each id once', (_, html) => {
    expect(html).toContain('<html lang="en">')
    expect(html.match(/<h1[ >]/g)).toHaveLength(1)
    const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const [, refs] of html.matchAll(/aria-describedby="([^"]*)"/g)) {
      for (const ref of refs!.split(' ')) expect(ids).toContain(ref)
    }
  })
})

describe('a route with approvers', () => {
  const tenant = '3f0b3c5e-0000-4000-8000-000000000001'
  const approvers = ['slack:T0123ABCD/U0123ABCD', `entra:${tenant}/${tenant}`]

  beforeEach(async () => {
    const routes = [{ match: {}, channels: ['chat', 'hook'], approvers }]
    const signIn = { tenantId: tenant }
    const slackApp = { signingSecret: '0123456789abcdef0123456789abcdef', team: 'T0123ABCD' }
    await startWithEvent({ routes, signIn, slackApp })
  })

  test('a bare link shows and explains, without buttons and without names', async () => {
    const html = await (await world.app.request(linkOf(world))).text()
    expect(buttonsOf(html)).toEqual([])
    expect(html).not.toContain('U0123ABCD')
    expect(html).not.toContain('name="form"')
  })

  test('and its POST decides nothing, whatever form it has', async () => {
    const response = await press(world, linkOf(world), 'approve')
    expect(response.status).toBe(403)
    expect((await eventNow()).approvals).toEqual([])
  })
})

describe('the state that an open page polls', () => {
  beforeEach(() => startWithEvent())

  async function live(query = ''): Promise<{ time: number; event: LiveState }> {
    const response = await world.app.request(`${await forge(world)}/state${query}`)
    const { time, events } = (await response.json()) as { time: number; events: LiveState[] }
    return { time, event: events[0]! }
  }

  test("the relay's time, the state, and when it is due", async () => {
    world.clock.now += 5_000
    const { time, event } = await live()
    expect(time).toBe(startAt + 5_000)
    expect(event).toMatchObject({
      ...{ tone: 'ask', headline: 'Not decided.', until: startAt + 15 * 60_000 },
      ...{
        decidable: true,
        over: false,
        timeline: [{ text: 'First seen by web_0' }],
        step: 'open',
      },
      ...{ facts: expect.arrayContaining([['When', '2026-11-21 12:15 UTC']]) },
    })
  })

  test('the timeline, only if the page lacks some of it', async () => {
    const { event: first } = await live()
    expect((await live(`?have=${first.sequence}`)).event.timeline).toBeUndefined()
    await press(world, await forge(world), 'approve')
    const { event: second } = await live(`?have=${first.sequence}`)
    expect(second.timeline?.map(({ text }) => text)).toEqual([
      'First seen by web_0',
      'Approved through the link sent to "chat"',
    ])
    expect(second).toMatchObject({ decidable: false, headline: 'Approved' })
    for (const odd of ['x', '-1', '1.2.3', '%00'])
      expect((await live(`?have=${odd}`)).event.timeline).toBeDefined()
  })

  test('`seen` changes with the VMs and the time, not with a reminder', async () => {
    const { seen } = (await live()).event
    await beacon.sees([event({ notBeforeAt: startAt + 20 * 60_000 })])
    const moved = (await live()).event.seen
    await beacon.sees([
      event({ notBeforeAt: startAt + 20 * 60_000, resources: ['web_0', 'web_1'] }),
    ])
    const grown = (await live()).event.seen
    expect(new Set([seen, moved, grown]).size).toBe(3)
    expect(await (await world.app.request(await forge(world))).text()).toContain(
      `data-seen="${grown}"`,
    )
    await press(world, await forge(world), 'not_now')
    expect((await live()).event.seen).toBe(grown)
  })

  test('the end, after which nothing changes', async () => {
    await beacon.sees([started()])
    expect((await live()).event).toMatchObject({ decidable: false, over: false })
    await beacon.sees([])
    await world.pass(10_001)
    expect((await live()).event).toMatchObject({
      over: true,
      headline: 'It was completed 10 s ago.',
    })
  })
})
