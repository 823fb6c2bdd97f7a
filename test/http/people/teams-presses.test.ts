// Buttons pressed in Teams: who may send a press, what it decides, and what the person sees.
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createEntra } from '../../../functions/identity/entra.ts'
import { type ClaimSet, Issuer } from '../../simulator/issuer.ts'
import {
  CONNECTOR_PREFIX,
  TEAMS_CHANNEL,
  TEAMS_TENANT,
  teamsBotSink,
} from '../../simulator/sinks/teams-bot.ts'
import {
  baseConfig,
  createWorld,
  event,
  eventId,
  FakeBeacon,
  type World,
} from '../../support/world.ts'

type Json = ReturnType<typeof JSON.parse>

const appId = '5e5e5e5e-0000-4000-8000-000000000002'
const ada = 'ada00000-0000-4000-8000-000000000001'
const bob = 'b0b00000-0000-4000-8000-000000000002'
const serviceUrl = 'https://smba.trafficmanager.net/emea/'
const endpoint = `https://bot.example${CONNECTOR_PREFIX.slice(0, -1)}`
const bot = { kind: 'teams', channelId: TEAMS_CHANNEL, tenantId: TEAMS_TENANT, endpoint }
const route = { match: {}, channels: ['bot', 'hook'], approveIn: 'teams' }

let world: World
let beacon: FakeBeacon
let sink: ReturnType<typeof teamsBotSink>
let issuer: Issuer

// making a key takes a while
beforeAll(() => {
  issuer = new Issuer()
  issuer.rotate()
})

async function start(config: object = {}) {
  const { channels } = baseConfig as Json
  world = await createWorld({
    config: {
      channels: { ...channels, bot },
      routes: [route],
      azure: { clientId: appId },
      ...config,
    },
  })
  sink = teamsBotSink()
  world.channels.answer = answer
  const fetch = async () => Response.json(keysOf(['msteams', 'skype']))
  world.relay.credentials.identity = createEntra({
    fetch,
    now: () => world.clock.now,
    log: world.relay.log,
  })
  world.relay.outside.tokens.read = async (resource) => `token of ${resource}`
  beacon = new FakeBeacon(world, 'web_0')
  await beacon.sees([event()])
  await world.drain()
}

function answer({ method = '', url, headers, body, json }: World['sent'][number]): Response {
  if (!url.startsWith(endpoint)) return new Response('ok')
  const path = url.slice('https://bot.example'.length)
  const request = { method, at: world.clock.now, path, headers, body, json }
  const { valid, reply } = sink.judge(request)
  if (valid !== true) throw new Error(valid)
  sink.accept(request)
  return Response.json(reply.body ?? {}, { status: reply.status })
}

beforeEach(() => start())
afterEach(() => world.store.close())

/** As the Bot Connector publishes its keys. */
function keysOf(endorsements: string[]) {
  return { keys: issuer.jwks().keys.map((key) => ({ ...key, endorsements })) }
}

function claims(changes: ClaimSet = {}): ClaimSet {
  const now = Math.floor(world.clock.now / 1_000)
  const times = { nbf: now - 60, exp: now + 3_600 }
  return {
    iss: 'https://api.botframework.com',
    aud: appId,
    serviceurl: serviceUrl,
    ...times,
    ...changes,
  }
}

/** What the Bot Connector sends when somebody presses a button. */
function activityOf(verb: string, value: string, changes: object = {}) {
  return {
    type: 'invoke',
    name: 'adaptiveCard/action',
    channelId: 'msteams',
    serviceUrl,
    from: { id: '29:1', name: 'Ada', aadObjectId: ada },
    conversation: { id: `${TEAMS_CHANNEL};messageid=1`, conversationType: 'channel' },
    channelData: { tenant: { id: TEAMS_TENANT } },
    value: { action: { type: 'Action.Execute', verb, data: { value } }, trigger: 'manual' },
    ...changes,
  }
}

async function send(activity: object, token = issuer.sign(claims())) {
  const response = await world.app.request('/teams/messages', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(activity),
  })
  return { status: response.status, body: (await response.json()) as Json }
}

/** The message in the channel now. */
const card = () => [...sink.messages.values()].find(({ isReply }) => !isReply)!
const actions = (): Json[] => card().content.actions
const approve = () => actions().find(({ type }) => type === 'Action.ShowCard').card.actions[0]
const valueNow = (): string => approve().data.value

async function press(verb = 'approved', changes: object = {}, value = valueNow()) {
  const answered = await send(activityOf(verb, value, changes))
  await world.drain()
  return answered
}

const approvals = async () => (await world.getEvent(eventId)).body.approvals as Json[]

describe('a press', () => {
  test('approves as the person, and the card is edited in place', async () => {
    expect(actions().map(({ title }) => title)).toEqual([
      'Restart now …',
      'Let Azure restart it',
      'Show event',
      expect.any(String),
    ])
    const { status, body } = await press()
    expect([status, body.statusCode]).toEqual([200, 200])
    expect(body).toMatchObject({
      value: 'Your decision is stored. This message changes in a moment.',
    })
    expect(await approvals()).toMatchObject([
      { decision: 'approved', how: 'entra', who: `${TEAMS_TENANT}/${ada}` },
    ])
    expect([...sink.messages.values()].filter(({ isReply }) => !isReply)).toHaveLength(1)
    expect(card().edits).toBe(1)
    expect(JSON.stringify(card().content)).toContain('Approved at ')
    expect(JSON.stringify(card().content)).toContain(`pproved by Ada (Entra user ${ada})`)
    expect(actions().every(({ type }) => type === 'Action.OpenUrl')).toBe(true)
  })

  test('asks before it counts: the first button only shows the question', () => {
    const [first] = actions()
    expect(first).toMatchObject({ type: 'Action.ShowCard', card: { type: 'AdaptiveCard' } })
    expect(JSON.stringify(first.card.body)).toContain('You cannot undo this')
  })

  test('leaves the event to Azure, and then only the approval is left', async () => {
    await press('declined')
    expect(await approvals()).toMatchObject([{ decision: 'declined' }])
    expect(actions().map(({ title }) => title)).toContain('Restart now …')
    expect(actions().map(({ title }) => title)).not.toContain('Let Azure restart it')
  })

  test('decides once: the second one says who was first', async () => {
    const value = valueNow()
    await press()
    const { body } = await press('approved', { from: { aadObjectId: bob } }, value)
    expect(body.type).toBe('application/vnd.microsoft.activity.message')
    expect(body.value).toContain('nothing changed, because it was already decided')
    expect(await approvals()).toHaveLength(1)
  })

  test('of a person whom no route lists decides nothing, and names the id to list', async () => {
    const approvers = [`entra:${TEAMS_TENANT}/${bob}`]
    await start({ routes: [{ ...route, approvers }] })
    const { body } = await press()
    expect(body.value).toContain('not a listed approver')
    expect(body.value).toContain(`"entra:${TEAMS_TENANT}/${ada}"`)
    expect(await approvals()).toEqual([])
    await press('approved', { from: { aadObjectId: bob } })
    expect(await approvals()).toMatchObject([{ who: `${TEAMS_TENANT}/${bob}` }])
  })

  test('is the only way that the page names, if the relay has no sign-in', async () => {
    await start({ routes: [{ ...route, approvers: [`entra:${TEAMS_TENANT}/${bob}`] }] })
    const { url } = actions().find(({ title }) => title === 'Show event')
    const page = await (await world.app.request(new URL(url).pathname)).text()
    expect(page).toContain('Approvers decide in Teams, with the buttons of the message in <')
    expect(page).not.toContain('sign-in')
  })

  test('of a guest from another tenant decides nothing', async () => {
    const other = '07e50000-0000-4000-8000-000000000003'
    const { body } = await press('approved', { from: { aadObjectId: ada, tenantId: other } })
    expect(body.value).toContain('nothing was decided')
    expect(await approvals()).toEqual([])
  })

  test('with a button of another service decides nothing', async () => {
    const { channels } = baseConfig as Json
    const chat = { match: {}, channels: ['chat'], approveIn: 'slack' }
    const slackApp = { signingSecret: '0f1e2d3c4b5a69788796a5b4c3d2e1f0', team: 'T0HOME' }
    await start({ channels: { ...channels, bot }, routes: [route, chat], slackApp })
    const body = world.sent.findLast(({ url }) => url.includes('slack'))!.json as Json
    const buttons = body.blocks.flatMap(({ elements = [] }: Json) => elements)
    const { value } = buttons.find(({ action_id }: Json) => action_id === 'approve')
    const answered = await press('approved', {}, value)
    expect(answered.body.value).toContain('nothing was decided')
    expect(await approvals()).toEqual([])
  })

  test('whose value was changed decides nothing', async () => {
    const { body } = await press('approved', {}, `x${valueNow()}`)
    expect(body.value).toContain('another relay made this button')
    expect(await approvals()).toEqual([])
  })

  test('without a message about the decision, the card is replaced by the answer', async () => {
    await start({ routes: [{ ...route, moments: ['scheduled', 'completed'] }] })
    const { body } = await press()
    expect(body.type).toBe('application/vnd.microsoft.card.adaptive')
    expect(JSON.stringify(body.value)).toMatch(/approved/i)
  })
})

describe('a request', () => {
  const tokens: [string, () => string][] = [
    ['of another bot', () => issuer.sign(claims({ aud: 'other' }))],
    ['of another issuer', () => issuer.sign(claims({ iss: 'https://sts.windows.net/x/' }))],
    ['that has expired', () => issuer.sign(claims({ exp: world.clock.now / 1_000 - 301 }))],
    ['that is not valid yet', () => issuer.sign(claims({ nbf: world.clock.now / 1_000 + 301 }))],
    ['for another service', () => issuer.sign(claims({ serviceurl: 'https://evil.example/' }))],
    ['without a service', () => issuer.sign(claims({ serviceurl: undefined }))],
    ['of a stranger', () => new Issuer().sign(claims(), { kid: issuer.key.kid })],
    ['that is none', () => 'a.b.c'],
  ]

  test.each(tokens)('with a token %s is refused, and decides nothing', async (_, token) => {
    const { status, body } = await send(activityOf('approved', valueNow()), token())
    expect([status, body.code]).toEqual([401, 'token_invalid'])
    expect(await approvals()).toEqual([])
  })

  test('from another service of the Bot Connector is refused: anybody may be anyone there', async () => {
    const activity = activityOf('approved', valueNow(), { channelId: 'directline' })
    expect((await send(activity)).status).toBe(401)
    const fetch = async () => Response.json(keysOf(['directline']))
    world.relay.credentials.identity = createEntra({
      fetch,
      now: () => world.clock.now,
      log: world.relay.log,
    })
    expect((await send(activityOf('approved', valueNow()))).status).toBe(401)
    expect(await approvals()).toEqual([])
  })

  test('without a token is refused', async () => {
    const body = JSON.stringify(activityOf('approved', valueNow()))
    const response = await world.app.request('/teams/messages', { method: 'POST', body })
    expect(response.status).toBe(401)
  })

  test('while the keys cannot be read, is to be sent again', async () => {
    const fetch = async () => new Response('', { status: 500 })
    world.relay.credentials.identity = createEntra({
      fetch,
      now: () => world.clock.now,
      log: world.relay.log,
    })
    expect((await send(activityOf('approved', valueNow()))).status).toBe(503)
  })

  test.each([
    ['a message', { type: 'message', channelId: 'msteams', serviceUrl }],
    ['another button', activityOf('open', 'x')],
  ])('of %s is taken, and does nothing', async (_, activity) => {
    expect(await send(activity)).toEqual({ status: 200, body: {} })
  })

  test('of a press without a person is refused, with the places and no value', async () => {
    const { status, body } = await send(activityOf('approved', 'secret', { from: {} }))
    expect([status, body.code]).toEqual([400, 'activity_malformed'])
    expect(body.detail).toContain('from.aadObjectId')
    expect(body.detail).not.toContain('secret')
  })

  test('where no channel is a bot is not found', async () => {
    const { channels, routes } = baseConfig as Json
    await start({ channels, routes })
    expect((await send({ type: 'invoke' })).status).toBe(404)
  })
})
