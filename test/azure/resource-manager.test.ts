// How the relay tells Azure through Resource Manager, against each answer that Azure is known to give.
import { describe, expect, test } from 'vitest'
import { createAzureApis } from '../../functions/azure/apis.ts'
import { armVersions } from '../../functions/azure/resource-manager.ts'
import { createTokens } from '../../functions/azure/tokens.ts'
import type { AzureResource } from '../../functions/core/event/outside.ts'
import type { AzureAccess } from '../../functions/core/rules/config.ts'
import { FakeArm } from '../simulator/arm.ts'

const subscription = '1e1e1e1e-0000-4000-8000-000000000001'
const access: AzureAccess = {
  subscriptions: [subscription],
  authority: 'https://login.microsoftonline.com',
  resourceManager: 'https://management.azure.com',
}
const target: AzureResource = {
  ...{ subscriptionId: subscription, resourceGroup: 'rg web' },
  ...{ type: 'virtualMachines', name: 'web_3' },
}
const id = '602d9444-0000-4000-8000-000000000001'
const day = 86_400_000
const readText = async () => ' the token of another issuer\n'

function start(options: Partial<FakeArm['options']> = {}, more: Partial<AzureAccess> = {}) {
  const arm = new FakeArm({ events: { [id]: 'virtualMachines/web_3' }, ...options })
  const clock = { now: 0 }
  const now = () => clock.now
  const own = { ...access, ...more }
  const tokens = createTokens({ access: own, host: undefined, readText, fetch: arm.fetch, now })
  const { manager } = createAzureApis({ access: own, tokens, fetch: arm.fetch, now })
  return { arm, clock, manager }
}
const acknowledge =
  'providers/Microsoft.Maintenance/scheduledevents/602d9444-0000-4000-8000-000000000001/acknowledge'

describe('which resource', () => {
  test('a VM alone', async () => {
    const { arm, manager } = start()
    expect(await manager.acknowledge(target, id)).toEqual({
      outcome: 'accepted',
      resource: 'web_3',
    })
    expect(arm.requests).toEqual([
      {
        method: 'POST',
        path: `/subscriptions/${subscription}/resourceGroups/rg%20web/providers/Microsoft.Compute/virtualMachines/web_3/${acknowledge}`,
        version: armVersions[0],
      },
    ])
  })

  test('a scale set', async () => {
    const { manager } = start({ events: { [id]: 'virtualMachineScaleSets/web' } })
    const set = { ...target, type: 'virtualMachineScaleSets', name: 'web' } as const
    expect(await manager.acknowledge(set, id)).toMatchObject({ resource: 'web' })
  })

  test('an event that Azure does not know is final', async () => {
    const { manager } = start({ events: {} })
    expect(await manager.acknowledge(target, id)).toEqual({
      ...{ outcome: 'failed', status: 404, isFinal: true },
      reason: 'InvalidScheduledEventId: Azure says InvalidScheduledEventId.',
    })
  })
})

describe('no address leads elsewhere', () => {
  test.each([
    `x/../../../virtualMachines/db_0/providers/Microsoft.Maintenance/scheduledevents/${id}`,
    `${id}/deallocate?api-version=2024-07-01&x=`,
    `${id}#`,
    '..',
    '',
  ])('by an EventId that is no GUID: %s', async (eventId) => {
    const { arm, manager } = start()
    const answer = await manager.acknowledge(target, eventId)
    expect(answer).toMatchObject({ outcome: 'failed', isFinal: true })
    expect(arm.requests).toEqual([])
  })

  test.each([{ name: '..' }, { name: '' }, { resourceGroup: '.' }, { subscriptionId: '..' }])(
    'by a part of the path: %o',
    async (part) => {
      const { arm, manager } = start()
      const answer = await manager.acknowledge({ ...target, ...part }, id)
      expect(answer).toMatchObject({ outcome: 'failed' })
      expect(arm.requests).toEqual([])
    },
  )
})

describe('what Azure answers', () => {
  test('an api-version that it refuses: the next ones, and the one that worked is kept', async () => {
    const { arm, manager } = start({ versions: [armVersions[2]!] })
    expect(await manager.acknowledge(target, id)).toMatchObject({ outcome: 'accepted' })
    await manager.acknowledge(target, id)
    const asked = arm.requests.map(({ version }) => version)
    expect(asked).toEqual([...armVersions.slice(0, 3), armVersions[2]])
    arm.options.versions = []
    expect(await manager.acknowledge(target, id)).toMatchObject({ status: 400 })
    expect(arm.requests).toHaveLength(4 + armVersions.length)
  })

  test('401: a new token, once', async () => {
    const { arm, manager } = start()
    await manager.acknowledge(target, id)
    arm.revoke()
    expect(await manager.acknowledge(target, id)).toMatchObject({ outcome: 'accepted' })
    expect(arm.tokenRequests).toHaveLength(2)
    arm.options.next = [{ status: 401 }, { status: 401 }]
    expect(await manager.acknowledge(target, id)).toMatchObject({ status: 401, isFinal: false })
  })

  test('403: the reason is the command that gives the role', async () => {
    const clientId = '2e2e2e2e-0000-4000-8000-000000000002'
    const { manager } = start({ hasRole: false }, { clientId })
    expect(await manager.acknowledge(target, id)).toMatchObject({
      ...{ outcome: 'failed', status: 403, isFinal: false },
      reason: `the role is missing: az role assignment create --assignee ${clientId} --role b67fe603-310e-4889-b9ee-8257d09d353d --scope /subscriptions/${subscription}`,
    })
  })

  test('a sentence that repeats the token is masked before it is cut', async () => {
    const token = `eyJ${'a'.repeat(200)}.eyJ${'b'.repeat(400)}`
    const error = { code: 'Bad', message: `not valid: Bearer ${token}` }
    const { manager } = start({ next: [{ status: 400, body: { error } }] })
    const { reason } = (await manager.acknowledge(target, id)) as { reason: string }
    expect(reason).toBe('Bad: not valid: Bearer [token]')
  })

  test('405: nobody asks for this resource group again for a day', async () => {
    const { arm, clock, manager } = start({ isSupported: false })
    const first = await manager.acknowledge(target, id)
    expect(first).toMatchObject({ outcome: 'failed', status: 405, isFinal: true })
    expect(await manager.acknowledge(target, id)).toEqual(first)
    expect(arm.requests).toHaveLength(1)
    clock.now = day
    arm.options.isSupported = true
    expect(await manager.acknowledge(target, id)).toMatchObject({ outcome: 'accepted' })
  })

  test.each([409, 429, 500, 503])('%i may work later', async (status) => {
    const { manager } = start({ next: [{ status, headers: { 'retry-after': '7' } }] })
    expect(await manager.acknowledge(target, id)).toEqual({
      ...{ outcome: 'failed', status, isFinal: false },
      reason: 'no reason given, try again in 7 s',
      retryAfterMs: 7_000,
    })
  })

  test('no answer, or one that is no JSON', async () => {
    const { arm, manager } = start()
    await manager.acknowledge(target, id)
    const { fetch } = arm
    const options = { access, now: () => 0 }
    const { manager: silent } = createAzureApis({
      ...options,
      tokens: createTokens({ ...options, host: undefined, readText, fetch }),
      fetch: async (url, init) => {
        if (!url.startsWith('https://management')) return fetch(url, init)
        throw Object.assign(new Error('connect to secret'), { code: 'ECONNREFUSED' })
      },
    })
    expect(await silent.acknowledge(target, id)).toEqual({
      ...{
        outcome: 'failed',
        isFinal: false,
        reason: 'azure_no_answer: Azure did not answer: ECONNREFUSED',
      },
    })
  })
})

describe('tokens', () => {
  const read = async (more: Partial<AzureAccess>, host?: { endpoint: string; header: string }) => {
    const arm = new FakeArm({ events: {} })
    const asked: RequestInit[] = []
    const tokens = createTokens({
      access: { ...access, ...more },
      host,
      readText,
      now: () => 0,
      fetch: (url, init) => {
        asked.push(init)
        return arm.fetch(url, init)
      },
    })
    expect(await tokens.read(access.resourceManager)).toBe('token-0')
    return { asked: arm.tokenRequests[0]!, headers: asked[0]!.headers }
  }

  test('of the host: App Service, or IMDS on a VM', async () => {
    const host = { endpoint: 'http://127.0.0.1:41741/msi/token', header: 'proof' }
    const of = 'resource=https%3A%2F%2Fmanagement.azure.com'
    expect(await read({}, host)).toEqual({
      asked: `${host.endpoint}?api-version=2019-08-01&${of}`,
      headers: { 'x-identity-header': 'proof' },
    })
    expect(await read({ clientId: 'c1' })).toEqual({
      asked: `http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&${of}&client_id=c1`,
      headers: { metadata: 'true' },
    })
  })

  test('of an app registration, with its secret', async () => {
    const { asked } = await read({ tenantId: 't1', clientId: 'c1', clientSecret: 'hush' })
    expect(Object.fromEntries(new URLSearchParams(asked))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'c1',
      client_secret: 'hush',
      scope: 'https://management.azure.com/.default',
    })
  })

  test('of an app registration, with the token of another issuer', async () => {
    const { asked } = await read({ tenantId: 't1', clientId: 'c1', federatedTokenFile: '/token' })
    expect(Object.fromEntries(new URLSearchParams(asked))).toMatchObject({
      client_assertion: 'the token of another issuer',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    })
  })

  test('of a file that cannot be read: the error names the file', async () => {
    const own = { ...access, tenantId: 't1', clientId: 'c1', federatedTokenFile: '/token' }
    const tokens = createTokens({
      ...{ access: own, host: undefined, now: () => 0 },
      readText: () => Promise.reject(new Error('it is no file')),
      fetch: () => expect.unreachable(),
    })
    const why = 'federatedTokenFile: "/token" cannot be read: it is no file'
    await expect(tokens.read(access.resourceManager)).rejects.toThrow(why)
  })

  test('are kept until 5 minutes before their end, and a refusal shows no secret', async () => {
    const clock = { now: 0 }
    let status = 200
    const asked: string[] = []
    const tokens = createTokens({
      access: { ...access, tenantId: 't1', clientId: 'c1', clientSecret: 'hush' },
      host: undefined,
      readText,
      now: () => clock.now,
      fetch: async (url) => {
        asked.push(url)
        const body = { access_token: 'a', expires_in: '600', error_description: 'hush is wrong' }
        return new Response(JSON.stringify(body), { status })
      },
    })
    await tokens.read(access.resourceManager)
    clock.now = 299_000
    await tokens.read(access.resourceManager)
    expect(asked).toEqual(['https://login.microsoftonline.com/t1/oauth2/v2.0/token'])
    clock.now = 300_000
    status = 401
    await expect(tokens.read(access.resourceManager)).rejects.toThrow(
      /^there is no token of the app registration c1: HTTP 401$/,
    )
  })
})
