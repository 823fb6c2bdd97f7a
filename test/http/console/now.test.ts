// The open events in the console: who sees which, who may decide, and what an open page costs.
import { beforeEach, describe, expect, test } from 'vitest'
import { revokeToken, tokensFor } from '../../../functions/use-cases/tokens.ts'
import { asAdmin, asPerson, asToken, type Visit } from '../../support/console.ts'
import { has } from '../../support/features.ts'
import { buttonsOf, formsOf } from '../../support/form.ts'
import { textOf } from '../../support/people.ts'
import { ann, annId, annInRecord, bobId, tenant } from '../../support/principals.ts'
import { beacon, eventNow, report, startRelay, world } from '../../support/relay.ts'
import { askApi } from '../../support/tokens.ts'
import { adminKey, baseConfig, event, eventId, FakeBeacon, testKey } from '../../support/world.ts'

const people = { signIn: { tenantId: tenant }, viewers: [ann] }

/** An event in each of two fleets. */
async function start(config: object = {}) {
  await startRelay(config)
  await report(event())
  const other = new FakeBeacon(world, 'db_0', { fleet: 'test', key: testKey })
  await other.sees([event({ eventId: 'other', resources: ['db_0'] })])
  await world.drain()
}

beforeEach(() => start())

const decided = async () => (await eventNow()).approvals

async function shownTo(visit: Visit, path = '/console') {
  const html = await (await visit.get(path)).text()
  return { html, text: await textOf(new Response(html)), buttons: buttonsOf(html) }
}

describe('what it shows', () => {
  test('open events, undecided first, with the time left and who was not told', async () => {
    world.channels.answer = ({ url }) =>
      new Response('ok', { status: url.includes('pager') ? 400 : 200 })
    await report(
      event(),
      event({ eventId: 'soon', resources: ['web_9'], notBeforeAt: world.clock.now + 60_000 }),
    )
    const { text } = await shownTo(await asAdmin(world))
    expect(text).toMatch(/Next in 1 min[^:]*: Reboot of web_9/)
    expect(text.indexOf('web_9')).toBeLessThan(text.indexOf('Reboot of web_0'))
    expect(text).toMatch(/web_9 .*✗ pager refused/)
    expect(text).not.toContain('✓')
  })

  test.each(['/console', '/console/upcoming'])(
    '%s: a filter in the address: fleet, type and part of a name',
    async (path) => {
      await report(event(), event({ eventId: 'cold', eventType: 'Freeze', resources: ['ice_1'] }))
      const visit = await asAdmin(world)
      const named = async (query: string) => {
        const { html } = await shownTo(visit, path + query)
        const rows = [...html.matchAll(/data-key="[^"]*?([^"/]+)"/g)].map(([, id]) => id)
        return rows.map((id) => (id === eventId ? 'first' : id)).sort()
      }
      expect(await named('')).toEqual(['cold', 'first', 'other'])
      expect(await named('?fleet=test')).toEqual(['other'])
      expect(await named('?type=Freeze')).toEqual(['cold'])
      expect(await named('?q=EB_')).toEqual(['first'])
      expect((await shownTo(visit, `${path}?q=nobody`)).text).toContain('No open event matches.')
      expect((await visit.get(`${path}?vm=web_0`)).status).toBe(400)
      // a misspelt fleet would look like a quiet one
      const misspelt = await visit.get(`${path}?fleet=prd`)
      expect([misspelt.status, await textOf(misspelt)]).toEqual([
        400,
        expect.stringContaining('fleet: write one of &quot;prod&quot;'.replaceAll('&quot;', '"')),
      ])
    },
  )

  test('in the picture of what comes, events that lie on each other are one bar with their number', async () => {
    await report(event(), event({ eventId: 'twin', resources: ['web_1'] }))
    const { html } = await shownTo(await asAdmin(world), '/console/upcoming')
    const bars = [...html.matchAll(/<a href="([^"]+)" aria-label="([^"]+)"><rect/g)]
    expect(bars.map(([, path]) => path)).toContain(`#u-${encodeURIComponent(`prod/${eventId}`)}`)
    expect(bars.map(([, , label]) => label)).toContainEqual(expect.stringMatching(/^2 events, /))
    expect(html).toContain(`id="u-${encodeURIComponent(`prod/${eventId}`)}"`)
    expect(html).toMatch(/<text [^>]+>2<\/text>/)
  })

  test('in the list of what comes, five alike of one scale set and half hour are one row, and four are not', async () => {
    const at = world.clock.now + 15 * 60_000
    const names = [...Array(9).keys()].map((i) =>
      event({ eventId: `e${i}`, resources: [`web_${i}`], notBeforeAt: at + i * 20_000 }),
    )
    const rows = async () => {
      const { html } = await shownTo(await asAdmin(world), '/console/upcoming')
      return [...html.matchAll(/<tr data-key=.*?<\/tr>/gs)].map(([row]) => row)
    }
    await report(event(), ...names.slice(0, 3))
    // and the one of the other fleet
    expect(await rows()).toHaveLength(5)
    await report(event(), ...names)
    // a page is made anew after seconds
    await world.pass(10_000)
    const [all, ...others] = (await rows()).toSorted((a, b) => b.length - a.length)
    expect(others).toHaveLength(1)
    expect(all).toContain('Reboot, 10 events, the last at 12:17 UTC</summary>')
    expect([...all!.matchAll(/<a id="u-[^"]+" href="[^"]+\/events\/prod\/[^"]+"/g)]).toHaveLength(
      10,
    )
  })

  test('the picture of what comes tells what people must decide from what waits for a rule', async () => {
    const policy = [
      { name: 'when ready', match: { fleet: 'prod' }, decide: 'approve', maxConcurrent: 1 },
    ]
    await start({ policy })
    // more VMs than one beacon knows: the rule waits
    await report(event({ resources: ['web_0', 'web_1'] }))
    const { html } = await shownTo(await asAdmin(world), '/console/upcoming')
    const legend = await textOf(new Response(/<ul class="legend".*?<\/ul>/s.exec(html)![0]))
    expect(legend.trim()).toBe('Waiting for a rule To decide')
    const states = [...html.matchAll(/<span class="badge (\w+)">([^<]+)/g)].map(([, ...of]) => of)
    expect(states.sort()).toEqual([
      ['ask', 'To decide'],
      ['over', 'Waiting for a rule'],
    ])
  })

  test('a long group is folded, and opens if it answers', async () => {
    const names = [...Array(6).keys()].map((i) => `edge_${i}`)
    for (const name of names) {
      const own = event({ eventId: name, resources: [name] })
      await new FakeBeacon(world, name, { vm: { scaleSet: 'edge' } }).sees([own])
    }
    const visit = await asAdmin(world)
    const { html, text } = await shownTo(visit)
    expect(text).toMatch(/15 min Reboot of 6 in edge prod Show all 6/)
    const isOpen = (page: string) => /<details class="fold" id="rows-[^"]*" open>/.test(page)
    expect(isOpen(html)).toBe(false)
    const [form] = formsOf(html).filter((one) => one.event === 'prod/edge_3')
    const answer = await visit.post('/console', { ...form!, decision: 'take' })
    expect(isOpen(await answer.text())).toBe(true)
  })

  test('two stuck ones of a set are one line, which opens', async () => {
    const names = ['edge_0', 'edge_1']
    const events = names.map((name) => event({ eventId: name, resources: [name] }))
    const beacons = names.map((name) => new FakeBeacon(world, name, { vm: { scaleSet: 'edge' } }))
    for (const [i, one] of beacons.entries()) await one.sees([events[i]!])
    const approve = { method: 'POST', body: { decision: 'approve' } }
    for (const name of names) {
      await askApi(world, adminKey, `/v1/events/prod/${name}/decision`, approve)
    }
    await world.pass(2 * 60_000)
    const { html, text } = await shownTo(await asAdmin(world))
    expect(text).toMatch(/Stuck 2 .*Show all 2/)
    expect(html).toMatch(/<details class="fold" id="rows-[^"]*edge/)
  })

  test('with more events than are read, no row names who was told', async () => {
    world.channels.answer = () => new Response('no', { status: 400 })
    const named = async (count: number) => {
      const events = Array.from({ length: count }, (_, i) =>
        event({ eventId: `one-${i}`, resources: [`vm${i}x`] }),
      )
      await report(...events)
      await world.drain()
      world.clock.now += 3_000
      return /class="reached/.test((await shownTo(await asAdmin(world))).html)
    }
    expect([await named(2), await named(20)]).toEqual([true, false])
  })

  test.runIf(has('silence'))('nothing is open', async () => {
    await startRelay()
    const visit = await asAdmin(world)
    expect((await shownTo(visit)).text).toMatch(
      /No beacon has reported · 0 of 4 channels work, 4 not tried yet .* Foghorn sees no VM\./,
    )
    await new FakeBeacon(world, 'web_0').sees([])
    world.clock.now += 61_000
    expect((await shownTo(visit)).text).toMatch(/1 of 1 beacon reports · .* All quiet\./)
    await world.pass(2 * 3_600_000)
    expect((await shownTo(visit)).text).toMatch(
      /0 of 1 beacon reports · 1 silent: web_0 .* All beacons are silent\./,
    )
  })

  test('nothing is green before a channel has accepted a message', async () => {
    await startRelay()
    await new FakeBeacon(world, 'web_0').sees([])
    world.clock.now += 61_000
    const { html, text } = await shownTo(await asAdmin(world))
    expect(text).toContain('No channel has accepted a message yet')
    expect(html).not.toMatch(/class="(health|empty) good"/)
  })

  test('the root of the relay leads to it', async () => {
    const response = await world.app.request('/')
    expect([response.status, response.headers.get('location')]).toEqual([302, '/console'])
  })
})

describe('who sees what', () => {
  test('a token of one fleet learns of no other fleet', async () => {
    const { html } = await shownTo(await asToken(world, ['read'], ['test']))
    expect(html).toContain('db_0')
    expect(html).not.toMatch(/prod|web_0/)
  })

  test('a token that is revoked or has expired opens nothing any more', async () => {
    const visit = await asToken(world, ['read'])
    expect((await visit.get('/console')).status).toBe(200)
    const [token] = await tokensFor(world.relay, { by: 'admin' })
    await revokeToken(world.relay, { by: 'admin' }, token!.id)
    expect((await shownTo(visit)).text).toContain('Admin key or token')
  })

  test('a person whom `viewers` lists, without a key', async () => {
    await start(people)
    expect((await shownTo(asPerson(world))).text).toMatch(/Reboot of web_0.*Reboot of db_0/)
  })

  test('a person of one fleet', async () => {
    const fleets = { prod: { key: testKey }, test: { key: testKey, viewers: [ann] } }
    await start({
      signIn: { tenantId: tenant },
      fleets: { ...(baseConfig.fleets as object), test: fleets.test },
    })
    const { html } = await shownTo(asPerson(world))
    expect(html).toContain('db_0')
    expect(html).not.toMatch(/prod|web_0/)
  })

  test.each([
    ['nobody is listed', { signIn: { tenantId: tenant } }, annId],
    ['another person is', people, bobId],
  ])('no other person: %s', async (_, config, user) => {
    await start(config)
    const { text } = await shownTo(asPerson(world, user))
    expect(text).not.toContain('web_0')
  })

  test('a header of a host that signs nobody in counts for nothing', async () => {
    expect((await shownTo(asPerson(world))).text).not.toContain('web_0')
  })

  test('after the sign-in nothing that only takes a form', async () => {
    for (const path of ['/replay', '/replay-all', '/test']) {
      const shown = await world.app.request(`/console${path}`, { method: 'POST' })
      expect(await shown.text()).toContain('name="to" value=""')
    }
  })

  test('after the sign-in the page that was asked for, and never another site', async () => {
    const { headers } = await world.app.request('/console/events?vm=web')
    const to = new URL(headers.get('location')!, 'https://x').searchParams.get('to')
    expect(to).toBe('/events?vm=web')
    const html = async (path: string) => (await world.app.request(path)).text()
    expect(await html('/console?to=%2Fevents')).toContain('name="to" value="/events"')
    for (const bad of ['//evil.example', 'https://evil.example', '/a//b', '/\\evil', '"><b>']) {
      expect(await html(`/console?${new URLSearchParams({ to: bad })}`)).toContain(
        'name="to" value=""',
      )
    }
  })
})

describe('deciding', () => {
  test.each([
    ['the admin key', () => asAdmin(world), { how: 'admin', who: 'admin' }],
    ['a token with decide', () => asToken(world, ['decide']), { how: 'token' }],
  ])('%s', async (_, visit, by) => {
    const response = await (await visit()).press('/console', 'approve')
    expect(response.status).toBe(200)
    expect(await textOf(response)).toContain('You approved it.')
    expect(await decided()).toMatchObject([{ decision: 'approved', ...by }])
  })

  test('a person, as on the page behind a link', async () => {
    await start(people)
    const own = asPerson(world)
    expect((await own.press('/console', 'not_now')).status).toBe(200)
    expect(await decided()).toMatchObject([{ decision: 'declined', ...annInRecord }])
  })

  test('a person whom the route does not list may not', async () => {
    const routes = [{ match: {}, channels: ['chat'], approvers: [`entra:${tenant}/${bobId}`] }]
    await start({ ...people, routes })
    const visit = asPerson(world)
    expect((await shownTo(visit)).buttons.filter((one) => one !== '')).toEqual([])
    expect(await decided()).toEqual([])
  })

  test('a token that only reads: no button, and its form is refused', async () => {
    const visit = await asToken(world, ['read'])
    const { buttons, text } = await shownTo(visit)
    expect(buttons.filter((one) => one !== '')).toEqual([])
    expect(text).toContain('can read, but not decide')
    const fields = { event: `prod/${eventId}`, decision: 'approve', form: 'x.y' }
    expect((await visit.post('/console', fields)).status).toBe(403)
    expect(await decided()).toEqual([])
  })

  test('a token of another fleet: the event does not exist', async () => {
    const visit = await asToken(world, ['decide'], ['test'])
    const admin = await asAdmin(world)
    const foreign = await admin.press('/console', 'approve', { fields: { form: 'x.y' } })
    expect(foreign.status).toBe(403)
    const response = await visit.press('/console', 'approve', {
      fields: { event: `prod/${eventId}` },
    })
    expect(response.status).toBe(403)
    expect(await decided()).toEqual([])
  })

  test('no form of another site, of another browser or for another event', async () => {
    const visit = await asAdmin(world)
    const site = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    expect((await visit.press('/console', 'approve', { headers: site })).status).toBe(403)
    const other = { fields: { event: 'test/other' } }
    expect((await visit.press('/console', 'approve', other)).status).toBe(403)
    const fields = { event: `prod/${eventId}`, decision: 'approve' }
    expect((await visit.post('/console', fields)).status).toBe(403)
    expect(await decided()).toEqual([])
  })

  test('a form of a person that may come from another site', async () => {
    await start(people)
    const headers = { 'sec-fetch-site': 'none' }
    expect((await asPerson(world).press('/console', 'approve', { headers })).status).toBe(403)
    expect(await decided()).toEqual([])
  })

  test('the event changed after the page was shown: nothing is decided', async () => {
    const visit = await asAdmin(world)
    const [form] = [await (await visit.get('/console')).text()]
    const token = /name="form" value="([^"]+)"><input type="hidden" name="event"/.exec(form!)![1]!
    await beacon.sees([event({ resources: ['web_0', 'web_1'] })])
    const fields = { event: `prod/${eventId}`, form: token, decision: 'approve' }
    expect((await visit.post('/console', fields)).status).toBe(409)
    expect(await decided()).toEqual([])
  })

  test('the event ended after the page was shown: the page says so', async () => {
    const visit = await asAdmin(world)
    const html = await (await visit.get('/console')).text()
    const [form] = formsOf(html).filter((one) => one.event === `prod/${eventId}`)
    await beacon.sees([])
    await world.pass(10_001)
    const answer = await visit.post('/console', { ...form, decision: 'approve' })
    expect(await textOf(answer)).toContain('Too late to decide: the event is over.')
  })

  test('an answer is not lost behind many undecided events', async () => {
    for (let i = 0; i < 7; i++) {
      const other = new FakeBeacon(world, `web_${i + 1}`)
      await other.sees(
        Array.from({ length: 10 }, (_, k) =>
          event({ eventId: `e${i}-${k}`, resources: [`web_${i + 1}`] }),
        ),
      )
    }
    const visit = await asAdmin(world)
    const { text } = await shownTo(visit)
    expect(text).toMatch(/72 to decide/)
    const answer = await visit.press('/console', 'approve')
    expect(await textOf(answer)).toContain('You approved it.')
  })
})

describe('an open page', () => {
  test('asks again and gets no body while nothing changes', async () => {
    const visit = await asAdmin(world)
    const etag = (await visit.get('/console')).headers.get('etag')!
    world.clock.now += 5_000
    const again = await visit.get('/console', { 'if-none-match': etag })
    expect([again.status, await again.text()]).toEqual([304, ''])
    await report(event({ resources: ['web_0', 'web_1'] }))
    world.clock.now += 5_000
    const changed = await visit.get('/console', { 'if-none-match': etag })
    expect(changed.status).toBe(200)
    expect(changed.headers.get('etag')).not.toBe(etag)
  })

  test('fifty open pages cost one read in two seconds', async () => {
    const visits = await Promise.all(Array.from({ length: 50 }, () => asAdmin(world)))
    const { listOpen } = world.relay.store
    let reads = 0
    world.relay.store.listOpen = (...of) => {
      reads += 1
      return listOpen.apply(world.store, of)
    }
    for (const visit of visits) await visit.get('/console')
    expect(reads).toBe(1)
    world.clock.now += 2_000
    for (const visit of visits) await visit.get('/console')
    expect(reads).toBe(2)
  })

  test('a decision shows at once', async () => {
    const visit = await asAdmin(world)
    await visit.press('/console', 'approve')
    expect((await shownTo(visit)).text).toMatch(/1 to decide/)
  })
})

describe('a group of events of one scale set', () => {
  const ofSet = ['edge_0', 'edge_1', 'edge_2']
  const idOf = (name: string) => `freeze-of-${name}`

  beforeEach(async () => {
    for (const name of ofSet) {
      const own = { eventId: idOf(name), eventType: 'Freeze', resources: [name] }
      await new FakeBeacon(world, name, { vm: { scaleSet: 'edge' } }).sees([event(own)])
    }
    await world.drain()
  })

  const formOf = async (visit: Visit) => {
    const { html } = await shownTo(visit)
    const bulk = html.slice(html.indexOf('class="after bulk"'))
    const pairs = [
      ...bulk.slice(0, bulk.indexOf('</form>')).matchAll(/name="(event|form)" value="([^"]+)"/g),
    ]
    return new URLSearchParams(pairs.map(([, name, value]): [string, string] => [name!, value!]))
  }
  const send = (visit: Visit, fields: URLSearchParams) =>
    visit.post('/console', fields as unknown as Record<string, string>)
  const approvalsOf = async (name: string) => (await world.getEvent(idOf(name))).body.approvals

  test('if they are not due at once, its line says when the last one is', async () => {
    const visit = await asAdmin(world)
    expect((await shownTo(visit)).text).toMatch(/Freeze of 3 in edge prod/)
    const own = { eventId: idOf('edge_3'), eventType: 'Freeze', resources: ['edge_3'] }
    const notBeforeAt = event().notBeforeAt! + 12 * 60_000
    const late = new FakeBeacon(world, 'edge_3', { vm: { scaleSet: 'edge' } })
    await late.sees([event({ ...own, notBeforeAt })])
    await world.drain()
    world.clock.now += 5_000
    const at = new Date(notBeforeAt).toISOString().slice(11, 16)
    expect((await shownTo(visit)).text).toContain(`Freeze of 4 in edge, the last at ${at}`)
  })

  test('while its VMs are silent, its line, its second step and a wall say so', async () => {
    await world.pass(5 * 60_000)
    const visit = await asAdmin(world)
    const { text } = await shownTo(visit)
    expect(text).toMatch(/Next in [^:]+: Freeze of 3 in edge/)
    expect(text).toMatch(/Freeze of 3 in edge prod 3 of 3 silent since/)
    expect(text).toContain('Nobody can tell Azure about 3 of these now')
    expect(text).toContain('Pause all 3 anyway')
    const wall = (await shownTo(visit, '/console?wall')).text
    expect(wall.match(/Freeze of 3 in edge prod 3 of 3 silent since/g)).toHaveLength(2)
  })

  test('is decided at once, after a step that names each', async () => {
    const visit = await asAdmin(world)
    expect((await shownTo(visit)).text).toMatch(
      /Freeze of 3 in edge prod Decide all 3… Pause all 3 in edge \(prod\)\? You cannot undo an approval\. .* Let Azure pause all 3 Pause all 3 now Cancel edge_0 .* edge_1 .* edge_2 /,
    )
    const fields = await formOf(visit)
    fields.set('decision', 'not_now')
    fields.set('reason', 'a host update')
    const text = await textOf(await send(visit, fields))
    expect(text).toContain('3 of 3 events were decided.')
    for (const name of ofSet) {
      expect(await approvalsOf(name)).toMatchObject([
        { decision: 'declined', how: 'admin', reason: 'a host update' },
      ])
    }
  })

  test('what has changed meanwhile is left, and its row says why', async () => {
    const visit = await asAdmin(world)
    const fields = await formOf(visit)
    const grown = { eventId: idOf('edge_1'), eventType: 'Reboot', resources: ['edge_1'] }
    await new FakeBeacon(world, 'edge_1', { vm: { scaleSet: 'edge' } }).sees([event(grown)])
    fields.set('decision', 'approve')
    const text = await textOf(await send(visit, fields))
    expect(text).toContain('2 of 3 events were decided. 1 were not decided')
    expect(text).toContain('after you opened this page, the event changed')
    expect(await approvalsOf('edge_1')).toEqual([])
  })

  test('a token that only reads gets no buttons for a group', async () => {
    const { html } = await shownTo(await asToken(world, ['read']))
    expect(html).toContain('Freeze of 3 in edge')
    expect(html).not.toContain('Decide all')
  })

  test('a form with the token of another event decides nothing', async () => {
    const visit = await asAdmin(world)
    const [one, other] = (await formOf(visit)).getAll('form')
    const fields = new URLSearchParams({ decision: 'approve' })
    for (const [name, form] of [
      ['edge_0', one],
      ['edge_2', other],
    ] as const) {
      fields.append('event', `prod/${idOf(name)}`)
      fields.append('form', form!)
    }
    expect((await send(visit, fields)).status).toBe(403)
    expect(await approvalsOf('edge_0')).toEqual([])
  })
})

describe('a decision', () => {
  test('stays where it was, with its answer', async () => {
    const visit = await asAdmin(world)
    const { html } = await shownTo(visit)
    const form = formsOf(html).find(({ event: name }) => name?.includes(eventId))!
    const answer = await visit.post('/console', { ...form, decision: 'approve' })
    expect(await textOf(answer)).toMatch(/To decide 1 .*You approved it\./)
    expect((await shownTo(visit)).text).toMatch(/To decide 1 .* Waiting for Azure 1/)
  })
})

test('a wall screen has the events, a clock, and nothing to press', async () => {
  const visit = await asToken(world, ['read', 'decide'])
  const { html, text, buttons } = await shownTo(visit, '/console?wall')
  expect(text).toMatch(/Foghorn 12:00:00 UTC .*web_0.*db_0/)
  expect(buttons).toEqual([])
  expect(html).toContain('<noscript><meta http-equiv="refresh"')
  expect(html).not.toContain('class="tabs"')
})

test('signing in at the wall leads to the wall', async () => {
  const html = await (await world.app.request('/console?wall')).text()
  expect(html).toContain('name="to" value="?wall"')
})

test('who only reads is signed in as long as the token lives', async () => {
  const [reader, decider] = [
    await asToken(world, ['read']),
    await asToken(world, ['read', 'decide']),
  ]
  world.clock.now += 100 * 86_400_000
  expect((await shownTo(reader)).text).not.toContain('Admin key or token')
  expect((await shownTo(decider)).text).toContain('Admin key or token')
})
