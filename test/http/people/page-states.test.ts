// Every state of the page: what it offers, and what a page that stands open is told of it.
import { beforeEach, describe, expect, test } from 'vitest'
import type { LiveState } from '../../../functions/pages/state.ts'
import { pageScenes } from '../../preview/page-scenes.ts'
import { forge, linkOf, press, textOf } from '../../support/people.ts'
import { beacon, eventNow, startWithEvent, world } from '../../support/relay.ts'
import { event, startAt, started } from '../../support/world.ts'

const scenes = await pageScenes()
const textIn = (html: string) => textOf(new Response(html))

/** What the buttons say; nothing else is a button. */
function buttonsOf(html: string): string[] {
  return [...html.matchAll(/<button[^>]*>([^<]*)<\/button>/g)].map(([, text]) => text!)
}

const both = ['Approve: start it now', 'Not now']

test('no page shows what nobody sees, or what turns a text', () => {
  const shown = Object.entries(scenes).filter(([, html]) =>
    /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/u.test(html),
  )
  expect(shown.map(([name]) => name)).toEqual([])
})

describe('every state', () => {
  const said: [string, string[], RegExp][] = [
    [
      'open',
      both,
      /12 min until Azure starts it Not decided\. Azure starts it at 12:15 UTC or soon after\. Approve/,
    ],
    ['open, its time has come', both, /Azure may start it at any moment, since 12:02:40 UTC/],
    ['open, its time has come', both, /This does not stop it: Azure may start it at any moment\./],
    ['open, days ahead', both, /Days of notice usually mean failing hardware.* Approve: start/],
    ['open, time not known', both, /Azure starts it, but has not said when\./],
    [
      'declined',
      both.slice(0, 1),
      /Not now chosen through the link .* That does not stop it: Azure starts it at 12:15 UTC or soon after\. Until then it can still be approved\. Approve after all/,
    ],
    ['approved', [], /Approved through the link sent to "ops-slack" , .* A VM is about to tell/],
    ['approved', [], /How we know who by the link alone, which proves no more/],
    ['approved by a rule', [], /policy rule "short freeze"/],
    ['approved after not now', [], /signed by Slack\).* Before Not now, chosen through the link/],
    ['approved and passed on', [], /web_1 told Azure 59 s ago\. It may start at any moment\./],
    [
      'stuck',
      [],
      /Approved, but stuck Approved through .* Azure has not been told: no beacon has answered for \d.* Check the beacon on web_3; .* If none can, Azure starts it at 12:15/,
    ],
    [
      'stuck, Azure refuses',
      [],
      /Approved, but stuck .* the beacon on web_1 asked Azure, and Azure refused \(HTTP 400\)\. Foghorn keeps trying\. Check web_3 in the Azure portal\./,
    ],
    ['stuck', [], /The beacon on web_1 asked Azure, and Azure refused \(HTTP 400\)/],
    [
      'stuck, Azure was told',
      [],
      /Approved, but stuck .* web_1 told Azure 59 s ago, and it has not started\. Foghorn tells Azure again every minute\./,
    ],
    [
      'approved, Azure refuses',
      [],
      /The beacon on web_1 asked Azure, and Azure refused \(HTTP 500\)\. Foghorn keeps trying\./,
    ],
    [
      'passed on, hits more since',
      [],
      /, for web_3 only, .* web_1 told Azure 59 s ago to start it, for web_3\. Azure added db_0 afterwards: nobody approved that VM\. It may start/,
    ],
    [
      'lapsed, to decide again',
      both,
      /Not decided\. Azure added db_0 after the approval, so the approval no longer applies\. Azure starts it .* it lapsed 2026-/,
    ],
    ['back after its end', both, /It is back: Foghorn had closed this event, but Azure lists it/],
    ['already running when first seen', [], /First seen 3 min ago, already running\./],
    ['started', [], /It started 40 s ago\. Approved through/],
    ['started without notice', [], /Azure gave no notice\. Nobody had decided\./],
    ['completed', [], /It was completed 20 s ago\. Approved through/],
    [
      'cancelled',
      [],
      /It was cancelled, it seems, 60 s ago\. Gone before its time: cancelled, or approved elsewhere\. If it was approved elsewhere, the VM may still restart\./,
    ],
    [
      'cancelled',
      [],
      /Its course .* Cancelled, it seems: gone before its time: cancelled, or approved elsewhere/,
    ],
    [
      'lost',
      [],
      /Foghorn lost sight of it 60 s ago\. No VM that saw this event has reported on it since 11:52 UTC ?, .* Check web_3, and that the beacons run\./,
    ],
    ['drill', both, /In a real one, the VM restarts; .* Asked by whoever started the drill/],
    ['drill', both, /This is a drill: no VM is touched\. .* until the drill starts/],
    [
      'drill, not run',
      [],
      /The drill was not run, and closed 60 s ago\. The relay did not run when/,
    ],
    ['drill, approved', [], /The drill starts in a moment/],
    [
      'identity needed',
      [],
      /You can look, not decide .* They decide in Slack, by the buttons of the message in "ops-slack" \. Signing in is off on this relay\./,
    ],
    ['only in Slack', [], /They decide in Slack, by the buttons of the message in "ops-slack" \./],
    [
      'only in Slack, without buttons',
      [],
      /No message of this event has buttons in Slack, so the admin key is the only way\./,
    ],
    ['identity needed, with sign-in', [], /or here, by signing in\. Sign in with Microsoft Entra/],
    ['not listed', [], /signed in as Ada Example, who is not among/],
    ['too quick', both.slice(0, 1), /That was too quick to be meant: press again\./],
    ['moved on', both, /the event has changed since you opened this page/],
    ['too late', [], /Too late to decide: it has started\./],
    ['forged', [], /This link is not valid/],
    ['expired', [], /This link has expired/],
    [
      'unknown',
      [],
      /This event is not known .* Whoever has the admin key finds what it remembers under \/record\./,
    ],
    ['busy', [], /Nothing was decided\. Try again in a few seconds\./],
  ]

  test.each(said)('%s: buttons %j, and says so', async (name, buttons, words) => {
    const html = scenes[name]!
    expect(buttonsOf(html)).toEqual(buttons)
    expect(await textIn(html)).toMatch(words)
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

describe('a route that names who may decide', () => {
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
    expect(html).toContain('Not decided.')
    expect(html).toContain('You can look, not decide')
    expect(html).toContain(
      'They decide here, by signing in. No message of this event has buttons in Slack.',
    )
    expect(html).not.toContain('U0123ABCD')
    expect(html).not.toContain('name="form"')
  })

  test('and its POST decides nothing, whatever form it has', async () => {
    const response = await press(world, linkOf(world), 'approve')
    expect(response.status).toBe(403)
    expect(await textOf(response)).toContain('a link alone does not say who you are')
    expect((await eventNow()).approvals).toEqual([])
  })
})

describe('what a page that stands open is told', () => {
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
      ...{ decidable: true, over: false, course: [{ text: 'First seen by web_0' }], step: 'open' },
      ...{ facts: expect.arrayContaining([['When', '2026-11-21 12:15 UTC']]) },
    })
  })

  test('the course only where the page lacks some of it', async () => {
    const { event: first } = await live()
    expect((await live(`?have=${first.sequence}`)).event.course).toBeUndefined()
    await press(world, await forge(world), 'approve')
    const { event: second } = await live(`?have=${first.sequence}`)
    expect(second.course?.map(({ text }) => text)).toEqual([
      'First seen by web_0',
      'Approved through the link sent to "chat"',
    ])
    expect(second).toMatchObject({ decidable: false, headline: 'Approved' })
    for (const odd of ['x', '-1', '1.2.3', '%00'])
      expect((await live(`?have=${odd}`)).event.course).toBeDefined()
  })

  test('other VMs and another time are not what was seen; a reminder is', async () => {
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

  test('an end that is a conclusion, as one', async () => {
    await beacon.sees([])
    await world.pass(10_001)
    expect((await live()).event).toMatchObject({
      headline: 'It was cancelled, it seems, 10 s ago.',
      since: 'It was cancelled since, it seems.',
    })
  })

  test('the end, and that nothing more will come', async () => {
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
