import { expect } from 'vitest'
import { isWebUrl } from '../../../functions/schema/checks.ts'
import { looksSecret } from '../../../shared/presentable.ts'
import type { ApiFeature } from '../../support/api-feature.ts'
import { world } from '../../support/relay.ts'
import { subscribe } from '../../support/subscriptions.ts'

type Addresses = NonNullable<ApiFeature['addresses']>
type Body = Parameters<NonNullable<NonNullable<ApiFeature['bodies']>[string]['also']>>[0]

const path = '/v1/subscriptions'
const since = '2020-01-01T00:00:00Z'

const ofOne = (end: string, body?: object): Addresses[string] => ({
  scope: 'manage',
  about: (_, id) => ({ path: `${path}/${id}${end}`, ...(body && { body }) }),
})

const url = 'https://robot.example/in'
const isText = (text: string) =>
  /^[^\p{Cc}]+$/u.test(text) && text.length <= 100 && !looksSecret(text)
const isWish = ({ url, description }: Body) =>
  (url === undefined || (isWebUrl(url) && url.length <= 2_000)) &&
  (description === undefined || description === null || isText(description))
const fill = (body: Body) => ({
  ...body,
  ...('url' in body && { url }),
  ...(typeof body.description === 'string' && { description: 'the robot' }),
})
const texts = ['a'.repeat(20), 'a b', '', 'x'.repeat(101)]

export const subscriptionApi: ApiFeature = {
  things: {
    make: (world, token) => subscribe(world, { url: 'https://hidden.example/in' }, token),
    lists: [`${path}/{id}`, `${path}/{id}/deliveries`],
  },
  addresses: {
    'GET /v1/subscriptions': {
      scope: 'manage',
      about: () => [{ path }, { path: `${path}?limit=1` }],
    },
    'POST /v1/subscriptions': {
      scope: 'manage',
      about: (fleet) => [
        { path, body: { url: 'https://x.example/in', fleets: [fleet] } },
        { path, body: { url: 'https://x.example/in', fleets: ['prod', fleet] } },
      ],
    },
    'GET /v1/subscriptions/:id': ofOne(''),
    'PATCH /v1/subscriptions/:id': ofOne('', { description: 'mine' }),
    'DELETE /v1/subscriptions/:id': ofOne(''),
    'GET /v1/subscriptions/:id/deliveries': ofOne('/deliveries'),
    'POST /v1/subscriptions/:id/test': ofOne('/test'),
    'POST /v1/subscriptions/:id/pause': ofOne('/pause'),
    'POST /v1/subscriptions/:id/resume': ofOne('/resume'),
    'POST /v1/subscriptions/:id/rotate-secret': ofOne('/rotate-secret'),
    'POST /v1/subscriptions/:id/replay': ofOne('/replay', { since }),
  },
  async answers(ask) {
    const make = (body: object) => ask('createSubscription', { path, method: 'POST', body })
    const { id } = await make({ url, fleets: ['prod'], moments: ['scheduled'] })
    await make({ url: 'http://10.0.0.1/' })
    await make({})
    await world.drain()
    const one = `${path}/${id}`
    const act = (operation: string, end: string, body: object = {}) =>
      ask(operation, { path: `${one}/${end}`, method: 'POST', body })
    expect((await ask('getSubscription', { path: one })).state).toBe('active')
    await ask('listSubscriptions', { path: `${path}?limit=1` })
    await act('testSubscription', 'test')
    await world.drain()
    const { deliveries } = await ask('listDeliveriesTo', { path: `${one}/deliveries` })
    expect(deliveries.map(({ moment }: { moment: string }) => moment)).toContain('ping')
    await act('pauseSubscription', 'pause')
    await act('replayToSubscription', 'replay', { since })
    await act('resumeSubscription', 'resume')
    await act('replayToSubscription', 'replay', { since })
    await act('rotateSecret', 'rotate-secret')
    const body = { moments: null, description: 'the robot' }
    await ask('changeSubscription', { path: one, method: 'PATCH', body })
    expect(await ask('deleteSubscription', { path: one, method: 'DELETE' })).toBeUndefined()
    await ask('deleteSubscription', { path: one, method: 'DELETE' })
  },
  bodies: {
    subscription: {
      path,
      limits: [{ url }, ...texts.map((description) => ({ url, description }))],
      fill,
      also: isWish,
    },
    change: {
      path: `${path}/{id}`,
      method: 'patch',
      code: 'subscription_malformed',
      limits: [{ url }, ...texts.map((description) => ({ description })), { moments: null }],
      fill,
      also: (body) => Object.keys(body).length > 0 && isWish(body),
    },
    test: { path: `${path}/{id}/test`, code: 'subscription_malformed' },
    replayTo: { path: `${path}/{id}/replay`, code: 'replay_malformed' },
  },
}
