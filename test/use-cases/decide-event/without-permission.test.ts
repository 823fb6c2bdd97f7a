// Attempts to decide on the page without permission: by a bare link, by a header that the host did
// not set, as a person who is not listed, from another site. None of them changes anything.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { buttonsOf } from '../../support/form.ts'
import { forge, linkOf, press, textOf } from '../../support/people.ts'
import {
  ann,
  annId,
  annInRecord,
  bobId,
  claimsOf,
  principal,
  signedIn,
  tenant,
} from '../../support/principals.ts'
import { eventNow, startRelay, world } from '../../support/relay.ts'
import { baseConfig, event, FakeBeacon } from '../../support/world.ts'

const signIn = { tenantId: tenant }
const channels = ['chat', 'team', 'pager', 'hook']
const listing = (...approvers: string[]) => [{ match: {}, channels, approvers }]
/** The page's text for a person without a name, and for one without permission. */
const [nameless, notListed] = ['the link alone does not', 'you are not a listed approver']
const other = tenant.replace('1e6', '2e6')

async function begin(config: object, resources = ['web_0']) {
  await startRelay(config)
  await new FakeBeacon(world, 'web_0', { vm: { tags: { role: 'web' } } }).sees([
    event({ resources }),
  ])
  await world.drain()
}

afterEach(() => world.store.close())

async function show(headers: Record<string, string> = {}) {
  const response = await world.app.request(linkOf(world), { headers })
  const html = await response.text()
  return { status: response.status, html, buttons: buttonsOf(html) }
}

/** Tries to decide, and expects that nothing was written. */
async function tryInVain(headers: Record<string, string>, said = nameless) {
  const before = await world.store.contents()
  for (const decision of ['approve', 'not_now']) {
    const response = await press(world, linkOf(world), decision, headers)
    expect(response.status).toBe(403)
    expect(await textOf(response)).toContain(said)
  }
  expect(await world.store.contents()).toEqual(before)
}

async function approvals() {
  return (await eventNow()).approvals
}

describe('a route that lists approvers', () => {
  beforeEach(() => begin({ signIn, routes: listing(ann) }))

  test('a bare link shows the event, explains, offers to sign in, and decides nothing', async () => {
    const { status, html, buttons } = await show()
    expect([status, buttons]).toEqual([200, []])
    expect(html).toContain('Reboot of web_0')
    const path = encodeURIComponent(linkOf(world))
    expect(html).toContain(`href="/.auth/login/aad?post_login_redirect_uri=${path}"`)
    await tryInVain({})
  })

  test('a signed-in person who is listed decides under their own ids', async () => {
    expect((await show(signedIn())).buttons).toEqual(['approve', 'not_now'])
    await press(world, linkOf(world), 'approve', signedIn())
    expect(await approvals()).toMatchObject([{ decision: 'approved', ...annInRecord }])
  })

  test('a signed-in person who is not listed learns that, by name', async () => {
    const { html, buttons } = await show(signedIn(bobId))
    expect(html).toContain('Ann &lt;b&gt;Ops&lt;/b&gt;')
    expect(buttons).toEqual([])
    await tryInVain(signedIn(bobId), notListed)
  })

  test.each<[string, Record<string, string>]>([
    ['of another tenant', signedIn(annId, other)],
    ['malformed', { 'x-ms-client-principal': 'e30=' }],
    [
      'of another provider',
      { 'x-ms-client-principal': principal(claimsOf(annId), { auth_typ: 'x' }) },
    ],
    ['huge', { 'x-ms-client-principal': principal([...claimsOf(annId), ['x', 'x'.repeat(9e4)]]) }],
    [
      'under other names of the header',
      { 'x-ms-client-principal-id': annId, 'x-ms-client-principal-name': 'ann' },
    ],
  ])('a principal %s identifies nobody', async (_, headers) => {
    await tryInVain(headers)
  })

  test.each<[string, Record<string, string>]>([
    ['of another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['of a sandboxed frame in an old browser', { origin: 'null' }],
    ['of unknown origin', {}],
  ])('the cookie of a sign-in decides nothing in a form %s', async (_, headers) => {
    const { 'sec-fetch-site': _s, ...cookie } = signedIn()
    await tryInVain({ ...cookie, ...headers }, 'Nothing was decided')
  })

  test('a refused attempt is logged, but not recorded', async () => {
    await press(world, linkOf(world), 'approve', signedIn(bobId))
    const line = world.lines.find((one) => one.includes('decision_refused'))
    expect(line).toContain(bobId)
    expect((await eventNow()).history).toHaveLength(1)
  })
})

describe('a host without sign-in', () => {
  test('ignores the header: the link decides as a link', async () => {
    await begin({})
    await press(world, linkOf(world), 'approve', signedIn())
    expect(await approvals()).toMatchObject([{ how: 'link', who: 'chat' }])
  })

  test('ignores it even if approvers are listed, and offers no sign-in', async () => {
    const slackApp = { signingSecret: '0'.repeat(32), team: 'T0TEAM' }
    await begin({ slackApp, routes: listing('slack:T0TEAM/U0ANN') })
    expect((await show(signedIn())).html).not.toContain('/.auth/')
    await tryInVain(signedIn())
  })
})

describe('with sign-in', () => {
  test('a bare link still decides if nobody is listed, and a signed-in person decides by name', async () => {
    await begin({ signIn })
    expect((await show()).html).not.toContain('/.auth/')
    await press(world, linkOf(world), 'not_now')
    await press(world, linkOf(world), 'approve', signedIn())
    expect(await approvals()).toMatchObject([
      { decision: 'declined', how: 'link', who: 'chat' },
      { decision: 'approved', ...annInRecord },
    ])
  })

  test('no sign-in is offered if it could not help', async () => {
    const slackApp = { signingSecret: '0'.repeat(32), team: 'T0TEAM' }
    await begin({ signIn, slackApp, routes: listing('slack:T0TEAM/U0ANN') })
    expect((await show()).html).not.toContain('/.auth/')
  })
})

describe('which VMs are affected', () => {
  const match = { tag: 'role=db' }
  const routes = [
    { match: {}, channels },
    { match, channels: ['chat'], approvers: [ann] },
  ]

  test('VMs that become known between the look and the press', async () => {
    await begin({ signIn, routes })
    expect((await show()).buttons).toHaveLength(2)
    const web = new FakeBeacon(world, 'web_0', { vm: { tags: { role: 'db' } } })
    await web.sees([event()])
    await tryInVain({})
  })

  test('a drill is decided by the approvers of the real event', async () => {
    await begin({ signIn, routes: listing(ann) })
    const headers = { authorization: `Bearer ${world.relay.credentials.adminKey}` }
    const body = JSON.stringify({ fleet: 'prod', type: 'Reboot' })
    const answer = await world.app.request('/v1/drills', { method: 'POST', headers, body })
    const drill = (await answer.json()) as { eventId: string }
    const path = await forge(world, { eventId: drill.eventId })
    expect((await press(world, path, 'approve')).status).toBe(403)
    expect((await press(world, path, 'approve', signedIn())).status).toBe(200)
  })
})

test('every rule of the policy still decides by itself', async () => {
  const policy = [{ match: { eventType: 'Reboot' }, decide: 'approve' }]
  await begin({ ...baseConfig, signIn, policy, routes: listing(ann) })
  expect(await approvals()).toMatchObject([{ how: 'policy', who: 'policy[0]' }])
})
