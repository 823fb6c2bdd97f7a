// A token with `decide` decides events by the API. Messages, pages, the record and the log name the
// token.
import { beforeEach, describe, expect, test } from 'vitest'
import { linkOf } from '../../support/people.ts'
import { signIn, withCookies } from '../../support/record-form.ts'
import { beacon, eventNow, startWithEvent, world } from '../../support/relay.ts'
import { askApi, makeToken } from '../../support/tokens.ts'
import { event, eventId } from '../../support/world.ts'

let token: string
let id: string

async function makeRobot(wish: object = {}): Promise<void> {
  const made = await makeToken(world, { name: 'drain robot', scopes: ['decide'], ...wish })
  token = made.token
  id = made.id
}

beforeEach(async () => {
  await startWithEvent()
  await makeRobot()
})

const decide = (decision: string, path = `prod/${eventId}`) =>
  askApi(world, token, `/v1/events/${path}/decision`, { method: 'POST', body: { decision } })

test('the approval is recorded, notified and passed on', async () => {
  const response = await decide('approve')
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({
    approvals: [
      { decision: 'approved', how: 'token', who: `${id}/drain robot`, at: expect.any(String) },
    ],
  })
  await world.drain()
  expect(world.told().at(-1)).toBe('foghorn.event.approved')
  expect((await beacon.sees([event()])).directives).toMatchObject([{ eventId }])
})

test('messages, the page, the history and the log name the token, and never its text', async () => {
  const link = linkOf(world)
  await decide('approve')
  await world.drain()
  const messages = world.sent.filter(({ body }) => body.includes('drain robot'))
  const said = (host: string) => messages.find(({ url }) => url.includes(host))?.body
  for (const host of ['slack.example', 'teams.example', 'pager.example']) {
    expect(said(host)).toContain(`with the token \\"drain robot\\" (id ${id})`)
  }
  expect(said('hook.example')).toContain(`"who":"${id}/drain robot"`)

  const html = await (await world.app.request(link)).text()
  expect(html).toContain(`with the token &quot;drain robot&quot; (id ${id})`)
  expect(html).toContain('had this token of the API')

  const { history } = await eventNow()
  expect(history).toContainEqual(
    expect.objectContaining({ what: 'approved', note: `token: ${id}/drain robot` }),
  )

  const cookie = withCookies('', await signIn(world))
  const path = `/console/events/prod/${eventId}`
  const shown = await (await world.app.request(path, { headers: { cookie } })).text()
  expect(shown).toContain(`with the token &quot;drain robot&quot; (id ${id})`)

  const line = world.lines.find((one) => one.includes('event_decided'))!
  expect(JSON.parse(line)).toMatchObject({ how: 'token', who: `${id}/drain robot` })
  expect(world.lines.join() + JSON.stringify(messages) + html + shown).not.toContain(token)
})

describe('nothing starts', () => {
  test.each<[string, object]>([
    ['with a token that only reads', { scopes: ['read'] }],
    ['with a token that manages', { scopes: ['manage'] }],
    ['with a token of another fleet', { fleets: ['test'] }],
  ])('%s', async (_, wish) => {
    await makeRobot(wish)
    expect([403, 404]).toContain((await decide('approve')).status)
    expect((await eventNow()).approvals).toEqual([])
    expect((await beacon.sees([event()])).directives).toEqual([])
  })

  test('with a token that was revoked or has expired', async () => {
    await askApi(world, world.relay.credentials.adminKey!, `/v1/tokens/${id}`, { method: 'DELETE' })
    expect((await decide('approve')).status).toBe(401)
    await makeRobot({ expiresInDays: 1 })
    world.clock.now += 86_400_000
    expect((await decide('approve')).status).toBe(401)
    expect((await eventNow()).approvals).toEqual([])
  })
})
