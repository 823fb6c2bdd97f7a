// Every state of the page: its buttons, its texts (`golden/pages.txt`), and what an open page asks for.
// Look at changed texts (`npm run preview`) before you accept them:
//   FOGHORN_GOLDEN=write npm test -- test/http/people/page-states.test.ts
import { beforeEach, describe, expect, test } from 'vitest'
import { pageScenes } from '../../preview/page-scenes.ts'
import { buttonsOf } from '../../support/form.ts'
import { goldenTexts } from '../../support/golden.ts'
import { forge, linkOf, press, watch } from '../../support/people.ts'
import { beacon, eventNow, startWithEvent, world } from '../../support/relay.ts'
import { event, startAt, started } from '../../support/world.ts'

const scenes = await pageScenes()

const onEveryPage = ['', 'Foghorn', 'This page has changed.', '[Show the new state]']

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
    .concat('open, and its VM is silent')
    .concat(['open, time not known', 'expired, to decide again', 'back after its end'])
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

describe('an open page', () => {
  beforeEach(() => startWithEvent())

  const etagOf = async () => (await watch(world, await forge(world))).headers.get('etag')!
  const isSame = async (etag: string) =>
    (await watch(world, await forge(world), { etag })).status === 304
  const shown = async () => (await world.app.request(await forge(world))).text()

  test('gets no page while nothing changes but the time left', async () => {
    const etag = await etagOf()
    world.clock.now += 60_000
    await beacon.sees([event()])
    expect(await isSame(etag)).toBe(true)
    await press(world, await forge(world), 'not_now')
    expect(await isSame(etag)).toBe(false)
  })

  test('what its buttons decide about changes with the VMs and the time, not with a decision', async () => {
    const seen = async () => /data-seen="([^"]*)"/.exec(await shown())![1]
    const first = await seen()
    const later = startAt + 20 * 60_000
    await beacon.sees([event({ notBeforeAt: later })])
    const moved = await seen()
    await beacon.sees([event({ notBeforeAt: later, resources: ['web_0', 'web_1'] })])
    const grown = await seen()
    expect(new Set([first, moved, grown]).size).toBe(3)
    await press(world, await forge(world), 'not_now')
    expect(await seen()).toBe(grown)
  })

  test('asks no more after the end', async () => {
    await beacon.sees([started()])
    expect(await shown()).toContain('data-refresh="5"')
    await beacon.sees([])
    await world.pass(10_001)
    expect(await shown()).toContain('data-refresh="0"')
  })
})
