// The console in a browser: who can open it, for how long, and what it shows.
import { beforeEach, describe, expect, test } from 'vitest'
import type { Access } from '../../../functions/core/rules/access.ts'
import { maxSessions } from '../../../functions/core/rules/sign-outs.ts'
import { createSession, readSession, signOut } from '../../../functions/http/api/session.ts'
import { signOutRows } from '../../../functions/store/small-rows.ts'
import { fieldsOf } from '../../support/form.ts'
import { forge, formType, linkOf, press, textOf } from '../../support/people.ts'
import {
  type Opened,
  openForm,
  sendForm,
  signIn as signInAt,
  withCookies,
} from '../../support/record-form.ts'
import { eventNow, startRelay, startWithEvent, world } from '../../support/relay.ts'
import { makeToken } from '../../support/tokens.ts'
import { adminKey, event, eventId, FakeBeacon, started } from '../../support/world.ts'

beforeEach(() => startWithEvent())

const get = (path: string, cookie = '') => world.app.request(path, { headers: { cookie } })

function post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  const body = new URLSearchParams(fields).toString()
  return world.app.request(path, {
    method: 'POST',
    body,
    headers: { 'content-type': formType, ...headers },
  })
}

const signIn = (key = adminKey, headers = {}) => signInAt(world, key, headers)

/** What a browser would send from then on. */
async function cookie(): Promise<string> {
  return (await signIn()).headers.get('set-cookie')!.split(';')[0]!
}

/** The list and its form for signing out, in a browser that is signed in. */
const openList = async () => openForm(world, '/console/events', await cookie())

const paths = ['/console/events', `/console/events/prod/${eventId}`, '/console/events/prod/other']

describe('who gets in', () => {
  test('the admin key, by a cookie that only this site gets back, for 8 hours', async () => {
    const response = await signIn()
    expect([response.status, response.headers.get('location')]).toEqual([303, '/console'])
    const [value, ...attributes] = response.headers.get('set-cookie')!.split('; ')
    expect(value).toMatch(/^__Host-foghorn-admin=/)
    expect(attributes.sort()).toEqual([
      'HttpOnly',
      'Max-Age=28800',
      'Path=/',
      'SameSite=Strict',
      'Secure',
    ])
    expect(value).not.toContain(adminKey)
    expect((await get('/console/events', value)).status).toBe(200)
    world.clock.now += 8 * 3_600_000 - 1
    expect((await get('/console/events', value)).status).toBe(200)
    world.clock.now += 1
    expect((await get('/console/events', value)).status).toBe(303)
  })

  test('over http on the own machine, with a cookie that browsers keep there', async () => {
    await startRelay({ publicUrl: 'http://127.0.0.1:7071' })
    const set = (await signIn()).headers.get('set-cookie')!
    expect(set).toMatch(/^foghorn-admin=/)
    expect(set).not.toContain('Secure')
    expect((await get('/console/events', set.split(';')[0])).status).toBe(200)
  })

  test.each(paths)('nobody else to %s: they are sent to the form', async (path) => {
    const real = await cookie()
    const [name, value = ''] = real.split(/=(.*)/)
    const later = value.replace(/(?<=\.)\d+/, (endsAt) => String(Number(endsAt) + 1))
    const token = (await forge(world)).slice('/approve/'.length)
    const given = ['', 'x=1', `${name}=`, `${name}=${later}`, `${name}=${value.slice(0, -6)}`]
    for (const one of [...given, `${name}=${token}`, `${name}=9999999999999.AAAA`]) {
      const response = await get(path, one)
      const to = new URLSearchParams({ to: path.replace('/console', '') })
      expect([response.status, response.headers.get('location')]).toEqual([303, `/console?${to}`])
    }
  })

  test('a session ends with the admin key, and with the link key that signed it', async () => {
    const mine = await cookie()
    world.relay.credentials.adminKey = `${adminKey}-new`
    expect((await get('/console/events', mine)).status).toBe(303)
    world.relay.credentials.adminKey = adminKey
    const [first, second] = world.relay.credentials.linkKeys
    world.relay.credentials.linkKeys = [second!, first!]
    expect((await get('/console/events', mine)).status).toBe(200)
    world.relay.credentials.linkKeys = [second!]
    expect((await get('/console/events', mine)).status).toBe(303)
  })

  test('no session opens the API, and no key in a query or a header opens a page', async () => {
    const mine = await cookie()
    expect((await get('/v1/events', mine)).status).toBe(401)
    expect((await get(`/console/events?key=${adminKey}`)).status).toBe(303)
    const headers = { authorization: `Bearer ${adminKey}` }
    expect((await world.app.request('/console/events', { headers })).status).toBe(303)
  })

  test('nobody, if the relay has no admin key', async () => {
    const mine = await cookie()
    world.relay.credentials.adminKey = undefined
    for (const path of ['/console', ...paths]) expect((await get(path, mine)).status).toBe(403)
    expect((await signIn('')).status).toBe(403)
  })
})

describe('signing in and out', () => {
  test.each(['', 'wrong', `${adminKey}x`, adminKey.slice(1)])('a wrong key: %j', async (key) => {
    const response = await signIn(key)
    expect(response.status).toBe(403)
    expect(response.headers.get('set-cookie')).toBeNull()
    const html = await response.text()
    if (key !== '') expect(html).not.toContain(key)
  })

  test('after ten wrong keys in a minute more get 429; the right one still works', async () => {
    for (let i = 0; i < 100; i++) await signIn(`wrong-${i}`)
    const busy = await signIn('wrong')
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([429, '60'])
    expect(world.lines.filter((line) => line.includes('admin_key_wrong'))).toHaveLength(1)
    expect(world.lines.join()).not.toContain('wrong-')
    expect((await signIn()).status).toBe(303)
    world.clock.now += 59_001
    expect((await signIn('wrong')).headers.get('retry-after')).toBe('1')
    world.clock.now += 999
    expect((await signIn('wrong')).status).toBe(403)
  })

  const foreignHeaders: [string, Record<string, string>][] = [
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['another site that hides its name', { 'sec-fetch-site': 'cross-site', origin: 'null' }],
    ['a neighbour', { 'sec-fetch-site': 'same-site', origin: 'null' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['JSON', { 'content-type': 'application/json' }],
    ['a browser that keeps no cookies', { cookie: '' }],
    ['another browser', { cookie: `__Host-foghorn-form=${'0'.repeat(36)}` }],
  ]

  /** Nothing happened, and the page says how to continue. */
  async function expectForeign(response: Response) {
    expect([response.status, response.headers.get('set-cookie')]).toEqual([403, null])
  }

  /** The page has a sign-in form, and nobody is signed in. */
  async function expectNotSignedIn(response: Response) {
    expect(response.status).toBe(403)
    expect(response.headers.get('set-cookie') ?? '').not.toContain('foghorn-admin')
    expect(fieldsOf(await response.text()).form).toBeDefined()
  }

  test.each(foreignHeaders)('no form from %s', async (_, headers) => {
    await expectNotSignedIn(await signIn(adminKey, headers))
    await expectForeign(await sendForm(world, '/console/sign-out', await openList(), headers))
  })

  const changed: [string, (own: Opened) => Opened | Promise<Opened>][] = [
    ['without its token', ({ cookie: kept }) => ({ fields: {}, cookie: kept })],
    ['with an empty one', (own) => ({ ...own, fields: { form: '' } })],
    ['with one that is made up', (own) => ({ ...own, fields: { form: 'sign-out.AAAA' } })],
    [
      'with that of the other form',
      async ({ cookie: kept }) => ({
        fields: (await openForm(world, '/console', kept.split('; ')[1]!)).fields,
        cookie: kept,
      }),
    ],
    [
      'with that of a link',
      async ({ cookie: kept }) => ({
        fields: (await openForm(world, linkOf(world))).fields,
        cookie: kept,
      }),
    ],
    [
      'with that of another browser',
      async ({ cookie: kept }) => ({
        fields: (await openList()).fields,
        cookie: kept,
      }),
    ],
  ]

  test.each(changed)('no form of signing out %s', async (_, change) => {
    const own = await openList()
    await expectForeign(await sendForm(world, '/console/sign-out', await change(own)))
    expect((await get('/console/events', own.cookie)).status).toBe(200)
  })

  test.each(['', 'sign-in.AAAA'])('no form of signing in with the token %j', async (form) => {
    const { cookie: kept } = await openForm(world, '/console')
    const fields = { key: adminKey, form }
    await expectNotSignedIn(await sendForm(world, '/console/sign-in', { fields, cookie: kept }))
    await expectNotSignedIn(await post('/console/sign-in', { key: adminKey }))
  })

  test('guesses without a form try no key, and fill no log', async () => {
    for (let i = 0; i < 100; i++) await post('/console/sign-in', { key: `wrong-${i}` })
    expect(world.lines.filter((line) => line.includes('admin_key_wrong'))).toEqual([])
    expect(world.lines.filter((line) => line.includes('forms_refused'))).toHaveLength(1)
    expect((await signIn('wrong')).status).toBe(403)
  })

  test('browsers that hide or omit the origin of our own form', async () => {
    for (const headers of [
      { origin: 'null' },
      { origin: 'null', 'sec-fetch-site': 'same-origin' },
    ]) {
      expect((await signIn(adminKey, headers)).status).toBe(303)
    }
  })

  test('several pages of one browser: the form of each works, before and after a new link key', async () => {
    const first = await openForm(world, '/console')
    const second = await openForm(world, '/console', first.cookie)
    expect(second.cookie).toBe(first.cookie)
    world.relay.credentials.linkKeys = world.relay.credentials.linkKeys.toReversed()
    for (const { fields } of [first, second]) {
      const opened = { fields: { ...fields, key: adminKey }, cookie: first.cookie }
      expect((await sendForm(world, '/console/sign-in', opened)).status).toBe(303)
    }
  })

  test('two first pages at once: the form that lost its cookie is answered with one that works', async () => {
    const [lost, kept] = [await openForm(world, '/console'), await openForm(world, '/console')]
    const late = { fields: { ...lost.fields, key: adminKey }, cookie: kept.cookie }
    const answer = await sendForm(world, '/console/sign-in', late)
    expect(answer.status).toBe(403)
    const fields = { ...fieldsOf(await answer.text()), key: adminKey }
    const again = await sendForm(world, '/console/sign-in', { fields, cookie: kept.cookie })
    expect(again.status).toBe(303)
  })

  test('the page that rejects a wrong key has a form that works', async () => {
    const opened = await openForm(world, '/console')
    const wrong = { fields: { ...opened.fields, key: 'wrong' }, cookie: opened.cookie }
    const answer = await sendForm(world, '/console/sign-in', wrong)
    const fields = { ...fieldsOf(await answer.text()), key: adminKey }
    const next = { fields, cookie: withCookies(opened.cookie, answer) }
    expect((await sendForm(world, '/console/sign-in', next)).status).toBe(303)
  })

  test('out: the cookie goes, and a copy of it shows nothing', async () => {
    const opened = await openList()
    expect(await textOf(await get('/console', opened.cookie))).not.toContain('Admin key or token')
    const response = await sendForm(world, '/console/sign-out', opened)
    expect(await textOf(await get('/console', opened.cookie))).toContain('Admin key or token')
    expect(response.headers.get('set-cookie')).toMatch(/^__Host-foghorn-admin=; Max-Age=0; Path=\//)
    expect(response.headers.get('location')).toBe('/console')
  })

  test('out without end: the next sign-in with that token works, and little is kept', async () => {
    const { id, scopes } = await makeToken(world, { expiresInDays: 1 })
    const access = { by: 'token', id, name: 'robot', scopes } as Access
    for (let i = 0; i < maxSessions + 5; i++) {
      world.clock.now += 10
      await signOut(world.relay, (await createSession(world.relay, access)).text)
    }
    world.clock.now += 10
    const { text, lastsMs } = await createSession(world.relay, access)
    expect(await readSession(world.relay, text)).toMatchObject({ by: 'token' })
    expect(lastsMs).toBeLessThan(86_400_000)
    const [row, ...others] = await signOutRows.list(world.store)
    expect([row?.sessions.length, others]).toEqual([maxSessions, []])
  })

  test('a signed-in browser skips the form', async () => {
    expect(await textOf(await get('/console'))).toContain('Admin key or token')
    expect(await textOf(await get('/console', await cookie()))).not.toContain('Admin key or token')
  })
})

describe('what it shows', () => {
  test('the newest events first, by fleet, in pages', async () => {
    const beacon = new FakeBeacon(world, 'db_0')
    const seen = [event()]
    for (let i = 0; i < 51; i++) {
      world.clock.now += 1_000
      seen.push(event({ eventId: `e${i}`, resources: [`db_${i}`] }))
      await beacon.sees(seen)
    }
    const mine = await cookie()
    const first = await (await get('/console/events?step=all', mine)).text()
    expect(first.match(/<tr data-key/g)).toHaveLength(50)
    expect(first.indexOf('db_50')).toBeLessThan(first.indexOf('db_49'))
    const older = /href="([^"]*after[^"]*)" rel="next">Older/
      .exec(first)![1]!
      .replaceAll('&amp;', '&')
    const second = await (await get(older, mine)).text()
    expect(second.match(/<tr data-key/g)).toHaveLength(2)
    expect(second).toContain('Reboot of web_0')
    expect(second).not.toContain('Older')
    const none = await textOf(await get('/console/events?fleet=test&step=all', mine))
    expect(none).toContain('No event matches.')
    expect((await get('/console/events?before=yesterday', mine)).status).toBe(400)
  })

  test('each event with its state, and how sure that is', async () => {
    const beacon = new FakeBeacon(world, 'web_0')
    world.clock.now += 1_000
    await beacon.sees([event(), event({ eventId: 'newer', resources: ['web_1'] })])
    await beacon.sees([event()])
    await world.pass(10_001)
    const text = await textOf(await get('/console/events?step=all', await cookie()))
    expect(text).toMatch(
      /Reboot of web_1 Probably cancelled .* Reboot of web_0 Not decided prod 2026-11-21 12:15 UTC/,
    )
  })

  test('one event: what was seen, sent, decided and passed on, in order', async () => {
    const beacon = new FakeBeacon(world, 'web_0')
    await press(world, linkOf(world), 'not_now')
    world.clock.now += 30_000
    await press(world, linkOf(world), 'approve')
    await beacon.sees([event()])
    const starts = [{ eventId, ageMs: 0, outcome: 'accepted' as const, status: 200 }]
    await beacon.sees([event()], { starts })
    world.channels.answer = () => new Response('no_service', { status: 404 })
    await world.drain()
    const response = await get(`/console/events/prod/${eventId.toUpperCase()}`, await cookie())
    const text = await textOf(response)
    const details = [
      'State Approved NotBefore 2026-11-21 12:15 UTC',
      'Decided left to Azure through the link sent to "chat" , 2026-11-21 12:00:00 UTC',
      'Decided approved through the link sent to "chat" , 2026-11-21 12:00:30 UTC',
      'Azure accepted by web_0',
      'web_0 affected 12:00:00 UTC to 12:00:30 UTC',
    ]
    const course = [
      'Reboot of web_0',
      '2026-11-21 12:00:30 UTC : Message approved → ✗ chat refused',
      '12:00:30 UTC : The beacon on web_0 told Azure',
      '12:00:30 UTC : The beacon on web_0 was asked to tell Azure',
      '12:00:30 UTC : Approved through the link sent to "chat"',
      '12:00:00 UTC : Message scheduled → ✓ chat delivered',
      '12:00:00 UTC : First seen by web_0',
    ]
    for (const said of [details, course]) {
      let from = 0
      for (const one of said) {
        expect(text.slice(from)).toContain(one)
        from = text.indexOf(one, from)
      }
    }
    expect(text).not.toMatch(/Restart now|Let Azure restart/)
  })

  test('the end follows the reports that prove it, though another VM missed the event earlier', async () => {
    const [first, second] = ['web_0', 'web_1'].map((name) => new FakeBeacon(world, name))
    await second!.sees([started()])
    world.clock.now += 30_000
    await first!.sees([])
    // The poll of web_1 was earlier, but its report arrived later.
    world.clock.now += 2_000
    await second!.sees([], { ageMs: 5_000 })
    await world.pass(60_000)
    const mine = await cookie()
    const record = await textOf(await get(`/console/events/prod/${eventId}`, mine))
    const page = await textOf(await world.app.request(linkOf(world)))
    // in the console, the newest comes first
    const [upwards, downwards] = [record, page].map((text) =>
      [/Started \(seen by/, /web_0 no longer sees/, /: ?Completed|UTC Completed/].map((one) =>
        text.slice(text.indexOf('Timeline')).search(one),
      ),
    ) as [number[], number[]]
    for (const order of [upwards.toReversed(), downwards]) {
      expect(order.every((at) => at >= 0)).toBe(true)
      expect(order).toEqual(order.toSorted((a, b) => a - b))
    }
  })

  test('everything that the API shows of the event itself', async () => {
    const facts = { durationSeconds: 30, description: 'Host <b>failing</b>.' }
    await new FakeBeacon(world, 'db_0').sees([
      event(),
      started({ eventId: 'sudden', resources: ['db_0'], ...facts }),
    ])
    const mine = await cookie()
    const sudden = await textOf(await get('/console/events/prod/sudden', mine))
    expect(sudden).toContain('Requested by Azure')
    expect(sudden).toContain('Why Host &lt;b&gt;failing&lt;/b&gt;.')
    expect(sudden).toContain('Expected duration about 30 s')
    expect(sudden).toContain('Notice already running when first seen')
    expect(sudden).toContain('State Running')
    const usual = await textOf(await get(`/console/events/prod/${eventId}`, mine))
    expect(usual).not.toContain('Expected duration')
    expect(usual).not.toContain('Notice ')
  })

  test('names from outside are text, and every page has the strict headers', async () => {
    const hostile = '<script>alert(1)</script>'
    const other = event({ eventId: '"><img src=x>', resources: [hostile] })
    await new FakeBeacon(world, 'web_0', { vm: { name: '<b>x' } }).sees([event(), other])
    const mine = await cookie()
    const url = `/console/events/prod/${encodeURIComponent('"><img src=x>')}`
    const pages = [await get('/console'), await get('/console/events', mine), await get(url, mine)]
    for (const page of [...pages, await get(paths[2]!, mine), await signIn('wrong')]) {
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(page.headers.get('content-security-policy')).not.toContain('unsafe')
      expect(page.headers.get('cache-control')).toBe('no-store')
      expect(page.headers.get('x-frame-options')).toBe('DENY')
      const html = await page.text()
      expect(html).toContain('<html lang="en">')
      expect(html).not.toMatch(/<script>alert|<img|<b>x/)
    }
  })

  test('looking changes nothing, and no address decides without our form', async () => {
    const mine = await cookie()
    const before = await eventNow()
    for (const path of paths) {
      await get(path, mine)
      const wish = await post(path, { decision: 'approve' }, { cookie: mine })
      expect([403, 404]).toContain(wish.status)
    }
    expect(await eventNow()).toEqual(before)
  })
})
