// Opening the page changes nothing. Only its own form can decide, once.
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { fieldsOf } from '../../support/form.ts'
import { forge, formType, linkOf, press, submit, textOf, watch } from '../../support/people.ts'
import { eventNow, relayForEach, report, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon } from '../../support/world.ts'

relayForEach(() => report(event()))

const prefetches: Record<string, string>[] = [
  { 'sec-purpose': 'prefetch' },
  { 'sec-purpose': 'prefetch;prerender' },
  { purpose: 'prefetch' },
  { 'x-moz': 'prefetch' },
]

describe('looking changes nothing', () => {
  const looks = [
    ...['GET', 'HEAD', 'OPTIONS'].map((method) => [method, {}] as const),
    ...prefetches.map((headers) => ['GET', headers] as const),
    ['GET', { 'content-type': formType }] as const,
    ...['PUT', 'PATCH', 'DELETE'].map((method) => [method, {}] as const),
  ]

  test.each(looks)('%s %o', async (method, headers) => {
    const before = await world.store.contents()
    for (const query of ['', '?decision=approve', '?decision=not_now']) {
      const response = await world.app.request(linkOf(world) + query, { method, headers })
      expect(response.status).toBeLessThan(500)
      if (method === 'HEAD') expect(await response.text()).toBe('')
    }
    expect(await world.store.contents()).toEqual(before)
    await world.drain()
    expect(world.told()).toHaveLength(1)
  })

  test('no page sets a cookie, or takes anything from another address', async () => {
    const pages = [
      await world.app.request(linkOf(world)),
      await world.app.request('/approve/forged'),
      await press(world, linkOf(world), 'nonsense'),
      await press(world, linkOf(world), 'approve'),
      await press(world, linkOf(world), 'approve', { 'sec-fetch-site': 'cross-site' }),
    ]
    for (const { headers } of pages) {
      expect(headers.get('set-cookie')).toBeNull()
      const policy = headers.get('content-security-policy')
      expect(policy).toContain("base-uri 'none'")
      expect(policy).not.toMatch(/https?:|\*/)
    }
  })

  test('the policy lets the page run its own style and script, and no other', async () => {
    const response = await world.app.request(linkOf(world))
    const policy = response.headers.get('content-security-policy')!
    const html = await response.text()
    for (const [tag, rule] of [
      ['style', 'style-src'],
      ['script', 'script-src'],
    ]) {
      const inside = [...html.matchAll(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, 'g'))]
      expect(inside).toHaveLength(1)
      const hash = createHash('sha256').update(inside[0]![1]!).digest('base64')
      expect(policy).toContain(`${rule} 'sha256-${hash}';`)
    }
    expect(html).not.toMatch(/\son\w+=|\sstyle=|<script [^>]/)
  })
})

describe('only the page can decide', () => {
  test.each([
    ['JSON', { 'content-type': 'application/json' }],
    ['multipart', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['plain text', { 'content-type': 'text/plain' }],
    ['a type that only begins alike', { 'content-type': `${formType}x` }],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['a site beside ours', { 'sec-fetch-site': 'same-site' }],
    ['another origin, from an old browser', { origin: 'https://evil.example' }],
    ['a browser that loads ahead', { 'sec-purpose': 'prefetch' }],
  ])('%s: refused', async (_, headers) => {
    const before = await world.store.contents()
    expect((await press(world, linkOf(world), 'approve', headers)).status).toBe(403)
    expect(await world.store.contents()).toEqual(before)
  })

  test.each([
    ['our own page', { 'sec-fetch-site': 'same-origin', origin: 'null' }],
    ['our own page, from an old browser', { origin: 'https://foghorn.example' }],
    ['a type with a charset', { 'content-type': `${formType}; charset=utf-8` }],
  ])('%s: taken', async (_, headers) => {
    expect((await press(world, linkOf(world), 'approve', headers)).status).toBe(200)
    expect((await eventNow()).approvals).toHaveLength(1)
  })

  test.each(['', 'Approve', 'approved', 'yes'])('decision %j: refused', async (decision) => {
    const before = await world.store.contents()
    expect((await press(world, linkOf(world), decision)).status).toBe(400)
    expect(await world.store.contents()).toEqual(before)
  })

  test('a form beyond 4 KB: refused', async () => {
    const before = await world.store.contents()
    expect((await press(world, linkOf(world), 'approve'.padEnd(5_000, 'x'))).status).toBe(413)
    expect(await world.store.contents()).toEqual(before)
  })

  test('of many who press at once one decides, and all are shown which', async () => {
    const channels = ['chat', 'team', 'pager', 'hook']
    const paths = await Promise.all(channels.map((channel) => forge(world, { channel })))
    const texts = await Promise.all(
      paths.map(async (path) => textOf(await press(world, path, 'approve'))),
    )
    const winners = texts.filter((text) => text.includes('You approved it.'))
    expect(winners).toHaveLength(1)
    const { body } = await world.getEvent(eventId)
    const [{ who }] = body.approvals
    for (const text of texts) expect(text).toContain(`the link sent to "${who}"`)
    expect(body.approvals).toEqual([
      { decision: 'approved', how: 'link', who, at: '2026-11-21T12:00:00.000Z' },
    ])
    await world.drain()
    expect(world.told().filter((type) => type.endsWith('approved'))).toHaveLength(1)
  })

  test('approve and not now at once: the first counts, and the other person is told', async () => {
    const path = linkOf(world)
    const answers = await Promise.all([
      press(world, path, 'not_now'),
      press(world, path, 'approve'),
    ])
    expect((await eventNow()).approvals).toHaveLength(1)
    const texts = await Promise.all(answers.map(textOf))
    expect(texts.filter((text) => /Nothing (was decided|changed)/.test(text))).toHaveLength(1)
  })

  test('a page that was open before a colleague left the event to Azure approves nothing', async () => {
    const path = linkOf(world)
    const open = fieldsOf(await (await world.app.request(path)).text())
    await press(world, path, 'not_now')
    const late = await submit(world, path, { ...open, decision: 'approve' })
    expect(late.status).toBe(409)
    expect(await textOf(late)).toContain('somebody decided it')
    expect((await eventNow()).approvals).toMatchObject([{ decision: 'declined' }])
    // who has seen that may still approve
    expect((await press(world, path, 'approve')).status).toBe(200)
    expect((await eventNow()).approvals).toHaveLength(2)
  })
})

describe('names from outside reach no header and no markup', () => {
  const hostile = 'web_0\r\nSet-Cookie: stolen=1\r\n\r\n<script>alert(1)</script>'

  test.each(['look', 'decide', 'watch'])('%s', async (how) => {
    const id = 'x\r\nlocation: https://evil.example'
    const named = { resources: [hostile], description: hostile, eventType: hostile.slice(0, 200) }
    const other = event({ eventId: id, ...named })
    await new FakeBeacon(world, 'web_0').sees([event(), other])
    const { config } = world.relay
    const channels = { ...config.channels, [hostile]: config.channels.chat! }
    world.relay.config = { ...config, channels }
    const path = await forge(world, { eventId: id, channel: hostile })
    const answers: Record<string, () => Response | Promise<Response>> = {
      look: () => world.app.request(path),
      decide: () => press(world, path, 'approve'),
      watch: () => watch(world, path),
    }
    const response = await answers[how]!()
    expect(response.status).toBe(200)
    expect(JSON.stringify([...response.headers])).not.toMatch(/stolen|evil|alert/)
    expect(response.headers.get('content-type')).toMatch(/^text\/html/)
    expect(await response.text()).not.toContain('<script>alert')
  })

  test.each(['%0d%0aset-cookie:%20stolen=1', '%00', '%E2%80%AE', '<script>alert(1)<%2Fscript>'])(
    'a token like %s is answered without it',
    async (token) => {
      for (const path of [`/approve/${token}`, `${linkOf(world)}${token}`]) {
        const response = await world.app.request(path)
        expect(response.status).toBe(403)
        expect(JSON.stringify([...response.headers])).not.toMatch(/stolen/)
        expect(await response.text()).not.toMatch(/stolen|alert/)
      }
    },
  )
})
