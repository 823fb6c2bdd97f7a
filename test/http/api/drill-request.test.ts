// What an admin can send to start a drill, and the errors for everything else.
import { beforeEach, describe, expect, test } from 'vitest'
import { maxOpenDrills } from '../../../functions/core/limits.ts'
import { drillSchema, startDrill } from '../../../functions/use-cases/run-drill.ts'
import { maxDescribed } from '../../../shared/errors.ts'
import { postDrill, problemOf } from '../../support/drills.ts'
import { startRelay, world } from '../../support/relay.ts'

const wish = { fleet: 'prod', type: 'Reboot' }

beforeEach(() => startRelay())

const post = (body: unknown, key?: string) => postDrill(world, body, key)

describe('what an admin can send', () => {
  test.each<[body: unknown, says: RegExp]>([
    ['{', /^the body is not JSON; send at least \{"fleet": "prod"/],
    [{}, /fleet: missing; write text in quotes\ntype: write one of "Freeze"/],
    [
      { ...wish, type: 'Rebot' },
      /type: write one of .*; did you mean "Reboot"\? \(found "Rebot"\)/,
    ],
    [
      { ...wish, notice: 5 },
      /unknown key "notice"; allowed are "fleet", .*did you mean "noticeSeconds"/,
    ],
    [
      { ...wish, noticeSeconds: 3_601 },
      /noticeSeconds: write a whole number of seconds from 0 to 3600/,
    ],
    [{ ...wish, impactSeconds: 0 }, /impactSeconds: .* from 1 to 600 \(found 0\)/],
    [{ ...wish, changeAfterSeconds: 120 }, /changeAfterSeconds: write less than noticeSeconds/],
    [{ ...wish, resources: [] }, /resources: write at least 1 entry/],
    [{ ...wish, source: 'user' }, /source: write one of "Platform", "User"/],
  ])('not %j', async (body, says) => {
    const response = await post(body)
    const { code, detail } = await problemOf(response)
    expect([response.status, code]).toEqual([400, 'drill_malformed'])
    expect(detail).toMatch(says)
    expect((await world.store.listEvents({ limit: 1 })).length).toBe(0)
  })

  test('not for an unknown fleet', async () => {
    const response = await post({ ...wish, fleet: 'prot' })
    expect([response.status, (await problemOf(response)).detail]).toEqual([
      404,
      'there is no fleet "prot"; write one of "prod", "test"; did you mean "prod"?',
    ])
    expect((await post({ ...wish, fleet: 'constructor' })).status).toBe(404)
  })

  test('not without the key', async () => {
    expect((await post(wish, 'wrong')).status).toBe(401)
    world.relay.credentials.adminKey = undefined
    expect((await post(wish)).status).toBe(403)
  })

  test('three of a fleet at a time', async () => {
    for (let count = 0; count < maxOpenDrills; count++) await post({ ...wish, noticeSeconds: 60 })
    const response = await post(wish)
    const { code, detail } = await problemOf(response)
    expect([response.status, code]).toEqual([429, 'too_many_drills'])
    expect(detail).toMatch(/^fleet "prod" has 3 open drills.*: drill-/)
    expect((await post({ ...wish, fleet: 'test' })).status).toBe(201)
    await world.pass(61_000)
    await world.pass(10_000)
    expect((await post(wish)).status).toBe(201)
  })

  test('the id of another event is never taken', async () => {
    const parsed = drillSchema.parse(wish)
    expect(await startDrill(world.relay, parsed, 'same')).toMatchObject({ outcome: 'started' })
    expect(await startDrill(world.relay, parsed, 'same')).toEqual({ outcome: 'conflict' })
  })
})

const many = (prefix: string) =>
  Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`${prefix}${i}`, 7]))

test.each<[string, object]>([
  ['unknown keys', many('key')],
  ['unknown keys that look secret', many('whsec_')],
  ['an unknown key of 60,000 characters', { ['x'.repeat(60_000)]: 1 }],
  ['tags of another type', { tags: many('key') }],
  ['tags that look secret', { tags: many('whsec_') }],
  ['zeros as resources', { resources: Array(30_000).fill(0) }],
  ['a type of 60,000 characters', { type: 'x'.repeat(60_000) }],
  ['a fleet of 60,000 characters', { fleet: 'x'.repeat(60_000) }],
])('a body full of %s: a short answer', async (_, part) => {
  const response = await post({ ...wish, ...part })
  expect([400, 404]).toContain(response.status)
  const { detail } = await problemOf(response)
  expect(detail.length).toBeLessThan(6_000)
  expect(detail.split('\n').length).toBeLessThanOrEqual(maxDescribed + 1)
  expect(detail).not.toContain('whsec_')
})

test('the answer has the drill as the relay understood it', async () => {
  const response = await post(wish)
  const body = (await response.json()) as object
  expect([response.status, body]).toMatchObject([
    201,
    {
      ...{ fleet: 'prod', eventType: 'Reboot', resources: ['drill-vm'], drill: true },
      ...{ notBefore: '2026-11-21T12:02:00.000Z', endsBy: '2026-11-21T12:02:10.000Z' },
      policy: { decide: 'ask', rule: 'default' },
    },
  ])
})
