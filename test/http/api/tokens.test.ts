// `/v1/tokens`: an owner makes a token, lists tokens and revokes them. A token makes others within
// its own rights.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { expiredKeptMs, useNotedMs } from '../../../functions/core/rules/token.ts'
import { signIn } from '../../support/record-form.ts'
import { startRelay, world } from '../../support/relay.ts'
import { askApi, makeToken } from '../../support/tokens.ts'
import { adminKey, startAt } from '../../support/world.ts'

beforeEach(() => startRelay())
afterEach(() => world.store.close())

const dayMs = 86_400_000
const read = (response: Response) => response.json() as Promise<ReturnType<typeof JSON.parse>>
const post = (body: unknown, key = adminKey) =>
  askApi(world, key, '/v1/tokens', { method: 'POST', body })
const revoke = (id: string, key = adminKey) =>
  askApi(world, key, `/v1/tokens/${id}`, { method: 'DELETE' })
const list = async (key = adminKey) => (await read(await askApi(world, key, '/v1/tokens'))).tokens
const names = async (key?: string) => {
  return (await list(key)).map(({ name }: { name: string }) => name)
}
const statusOf = async (key: string) => (await askApi(world, key, '/v1/events')).status

/** The row of a token, as the store has it. */
async function rowOf(id: string) {
  const row = await world.store.readSmallRow({ kind: 'token', name: [id] })
  return row as { version: number; lastUsedAt?: number } | undefined
}

describe('a new token', () => {
  test('is shown once, and works at once', async () => {
    const wish = { name: 'inventory 2', scopes: ['read'], fleets: ['prod'] }
    const response = await post({ ...wish, expiresInDays: 30 })
    const { id, token, ...shown } = await read(response)
    expect(response.status).toBe(201)
    const about = {
      ...wish,
      createdAt: '2026-11-21T12:00:00.000Z',
      createdBy: 'admin',
      expiresAt: '2026-12-21T12:00:00.000Z',
    }
    expect(shown).toEqual(about)
    expect(token).toMatch(/^fht_[\w-]{48,}$/)
    expect(token).toContain(id)
    expect(await list()).toEqual([{ id, ...about }])
    expect(await statusOf(token)).toBe(200)
  })

  test('has no secret in rows, logs, lists and errors', async () => {
    const { id, token } = await makeToken(world, { scopes: ['manage'] })
    const secret = token.slice(-20)
    await askApi(world, token, '/v1/events')
    await askApi(world, `${token}0`, '/v1/events')
    const answers = [
      await askApi(world, token, '/v1/tokens'),
      await askApi(world, token, `/v1/tokens/${token}`, { method: 'DELETE' }),
      await askApi(world, token, `/v1/events?${token}=1`),
      await askApi(world, token, `/v1/events/${token}/${token}`),
      await askApi(world, token, `/v1/${token}`),
      await post({ name: token, scopes: [token], fleets: [token] }, token),
      await post({ name: 'a', scopes: ['read'], fleets: [token] }, token),
    ]
    const texts = await Promise.all(answers.map((answer) => answer.text()))
    for (const text of texts) expect(text).not.toContain(secret)
    expect(world.lines.join()).not.toContain(secret)
    expect(JSON.stringify(await rowOf(id))).not.toContain(secret)
  })

  test('has an id and a secret of its own', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => makeToken(world, {})))
    expect(new Set(made.flatMap(({ id, token }) => [id, token.slice(-64)])).size).toBe(40)
  })

  test.each<[string, unknown, string]>([
    ['no JSON', '{', 'not JSON'],
    ['nothing', {}, 'name: missing'],
    ['an empty name', { name: '', scopes: ['read'] }, 'name: write 1 to 64'],
    ['a name of 65 letters', { name: 'a'.repeat(65), scopes: ['read'] }, 'name: write 1 to 64'],
    ['a name with a slash', { name: 'a/b', scopes: ['read'] }, 'name: write 1 to 64'],
    ['a name that looks secret', { name: 'xoxb-1234', scopes: ['read'] }, 'name: write 1 to 64'],
    ['no scope', { name: 'a', scopes: [] }, 'scopes: write at least 1 entry'],
    ['an unknown scope', { name: 'a', scopes: ['raed'] }, 'did you mean "read"'],
    ['no fleet', { name: 'a', scopes: ['read'], fleets: [] }, 'fleets: write at least 1 entry'],
    ['0 days', { name: 'a', scopes: ['read'], expiresInDays: 0 }, 'from 1 to 3650'],
    ['half a day', { name: 'a', scopes: ['read'], expiresInDays: 0.5 }, 'from 1 to 3650'],
    ['an unknown key', { name: 'a', scopes: ['read'], expires: 5 }, 'unknown key "expires"'],
  ])('%s: 400 with what to write', async (_, body, said) => {
    const response = await post(body)
    const { code, detail } = await read(response)
    expect([response.status, code]).toEqual([400, 'token_malformed'])
    expect(detail).toContain(said)
    expect(await list()).toEqual([])
  })

  test('for a fleet that does not exist: 404 with those that do', async () => {
    const response = await post({ name: 'a', scopes: ['read'], fleets: ['prod', 'prud'] })
    expect([response.status, (await read(response)).detail]).toEqual([
      404,
      'there is no fleet "prud"; write one of "prod", "test"; did you mean "prod"?',
    ])
  })
})

describe('a token makes tokens', () => {
  test('of no more than its own rights, and for its own fleets and time if left out', async () => {
    const parent = await makeToken(world, {
      ...{ name: 'parent', scopes: ['manage'], fleets: ['prod'], expiresInDays: 10 },
    })
    world.clock.now += dayMs
    const child = await makeToken(world, { name: 'child' }, parent.token)
    expect(child).toMatchObject({
      ...{ scopes: ['read'], fleets: ['prod'], expiresAt: parent.expiresAt },
      createdBy: `token:${parent.id}/parent`,
    })
    const refused: [object, number, string][] = [
      [{ scopes: ['decide'] }, 403, 'beyond_own_rights'],
      [{ scopes: ['read'], fleets: ['test'] }, 404, 'fleet_unknown'],
      [{ scopes: ['read'], expiresInDays: 10 }, 403, 'beyond_own_rights'],
    ]
    for (const [wish, status, code] of refused) {
      const response = await post({ name: 'a', ...wish }, parent.token)
      expect([response.status, (await read(response)).code]).toEqual([status, code])
    }
    expect(await names()).toEqual(['child', 'parent'])
  })

  test('sees and revokes only those for its own fleets', async () => {
    const parent = await makeToken(world, { name: 'p', scopes: ['manage'], fleets: ['prod'] })
    const all = await makeToken(world, { name: 'all', scopes: ['manage'] })
    const other = await makeToken(world, { name: 'other', fleets: ['test'] })
    const both = await makeToken(world, { name: 'both', fleets: ['prod', 'test'] })
    const own = await makeToken(world, { name: 'own', fleets: ['prod'] })
    expect((await names(parent.token)).sort()).toEqual(['own', 'p'])
    expect((await names(all.token)).sort()).toEqual(['all', 'both', 'other', 'own', 'p'])
    for (const { id } of [all, other, both]) {
      expect((await revoke(id, parent.token)).status).toBe(404)
    }
    expect((await revoke(own.id, parent.token)).status).toBe(204)
    expect((await names()).sort()).toEqual(['all', 'both', 'other', 'p'])
  })

  test('beyond the most of its fleets: 409, and others have room', async () => {
    const parent = await makeToken(world, { scopes: ['manage'], fleets: ['prod'] })
    const made = async () => (await post({ name: 'a', scopes: ['read'] }, parent.token)).status
    for (let i = 1; i < 200; i++) await makeToken(world, {}, parent.token)
    expect(await made()).toBe(409)
    await makeToken(world, { fleets: ['test'] })
    await makeToken(world, { fleets: ['prod'] })
    const revokeChild = async () => {
      const child = (await list(parent.token)).find(({ id }: { id: string }) => id !== parent.id)
      await revoke(child.id)
    }
    await revokeChild()
    expect(await made()).toBe(409)
    await revokeChild()
    expect(await made()).toBe(201)
  })
})

describe('a revoked token', () => {
  test('is refused at once, and its tokens stay', async () => {
    const parent = await makeToken(world, { scopes: ['manage'] })
    const child = await makeToken(world, {}, parent.token)
    expect(await revoke(parent.id)).toMatchObject({ status: 204, body: null })
    expect(await statusOf(parent.token)).toBe(401)
    expect(await statusOf(child.token)).toBe(200)
    expect((await revoke(parent.id)).status).toBe(404)
  })

  test('may revoke itself', async () => {
    const { id, token } = await makeToken(world, { scopes: ['manage'] })
    expect((await revoke(id, token)).status).toBe(204)
    expect(await statusOf(token)).toBe(401)
  })
})

describe('an expired token', () => {
  test('is refused, and its holder learns why; it is listed for a week', async () => {
    const { id, token } = await makeToken(world, { expiresInDays: 1 })
    world.clock.now += dayMs - 1
    expect(await statusOf(token)).toBe(200)
    world.clock.now += 1
    const response = await askApi(world, token, '/v1/events')
    expect([response.status, (await read(response)).detail]).toEqual([
      401,
      'this token expired at 2026-11-22T12:00:00.000Z; use a new one',
    ])
    const stranger = await askApi(world, `${token.slice(0, -1)}x`, '/v1/events')
    expect((await read(stranger)).detail).not.toContain('expired')
    expect(await names()).toEqual(['robot'])
    world.clock.now += expiredKeptMs
    expect(await names()).toEqual([])
    expect(await rowOf(id)).toBeUndefined()
    expect(await statusOf(token)).toBe(401)
  })

  test('that is new works at once after wrong keys while the clock was ahead', async () => {
    world.clock.now += dayMs
    for (let i = 0; i < 12; i++) await statusOf(`fht_${'a'.repeat(16)}_${'b'.repeat(64)}`)
    world.clock.now -= dayMs
    const { token } = await makeToken(world, {})
    expect(await statusOf(token)).toBe(200)
  })

  test('counts like a wrong key', async () => {
    const { token } = await makeToken(world, { expiresInDays: 1 })
    world.clock.now += dayMs
    const statuses = []
    for (let i = 0; i < 12; i++) statuses.push(await statusOf(token))
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
  })
})

test('one token is shown as in the list, and a request reads its row once', async () => {
  const { id, token } = await makeToken(world, { scopes: ['manage'] })
  const reads = vi.spyOn(world.store, 'readSmallRow')
  expect((await askApi(world, token, '/v1/events')).status).toBe(200)
  expect(reads).toHaveBeenCalledTimes(1)
  const shown = await read(await askApi(world, adminKey, `/v1/tokens/${id}`))
  expect([shown]).toEqual(await list())
  expect((await askApi(world, adminKey, '/v1/tokens/0')).status).toBe(404)
})

describe('the last use', () => {
  test('is noted at the first use, and then every five minutes at most', async () => {
    const { id, token } = await makeToken(world, {})
    const uses: (number | undefined)[] = [(await rowOf(id))?.lastUsedAt]
    for (const waitMs of [0, 1, useNotedMs - 2, 1, useNotedMs]) {
      world.clock.now += waitMs
      await statusOf(token)
      uses.push((await rowOf(id))?.lastUsedAt)
    }
    const second = startAt + useNotedMs
    const third = second + useNotedMs
    expect(uses).toEqual([undefined, startAt, startAt, startAt, second, third])
    expect((await list())[0].lastUsedAt).toBe(new Date(third).toISOString())
  })

  test('is written once, however many requests come before it is stored', async () => {
    const { token } = await makeToken(world, {})
    const writes = vi
      .spyOn(world.store, 'writeSmallRow')
      .mockReturnValue(new Promise<never>(() => {}))
    for (let i = 0; i < 20; i++) await statusOf(token)
    expect(writes).toHaveBeenCalledTimes(1)
  })

  test('neither fails nor delays a request', async () => {
    const { token } = await makeToken(world, {})
    const failing = vi
      .spyOn(world.store, 'writeSmallRow')
      .mockRejectedValue(new Error('disk on fire'))
    expect(await statusOf(token)).toBe(200)
    await vi.waitFor(() => expect(world.lines.join()).toContain('token_use_failed'))
    failing.mockReturnValue(new Promise<never>(() => {}))
    world.clock.now += useNotedMs
    expect(await statusOf(token)).toBe(200)
  })
})

describe('wrong tokens', () => {
  const wrong = (i: number) => `fht_${String(i).padStart(16, '0')}_${'0'.repeat(64)}`

  test('count like wrong admin keys, together with them; right ones still work', async () => {
    const { token } = await makeToken(world, {})
    const statuses = []
    for (let i = 0; i < 6; i++) {
      statuses.push(await statusOf(wrong(i)), await statusOf(`wrong-${i}`))
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
    expect(await statusOf(token)).toBe(200)
    expect(await statusOf(adminKey)).toBe(200)
    world.clock.now += 60_000
    expect(await statusOf(wrong(7))).toBe(401)
  })

  test('many of them do not load the store', async () => {
    const { token } = await makeToken(world, {})
    const reads = [vi.spyOn(world.store, 'readSmallRow'), vi.spyOn(world.store, 'listSmallRows')]
    for (let i = 0; i < 200; i++) await statusOf(wrong(i))
    expect(reads.map(({ mock }) => mock.calls.length)).toEqual([10, 1])
    expect(await statusOf(token)).toBe(200)
    const later = await makeToken(world, {})
    world.clock.now += 5_000
    expect(await statusOf(later.token)).toBe(200)
  })

  test('a right id with another secret is wrong', async () => {
    const { token } = await makeToken(world, {})
    const other = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0')
    expect(await statusOf(other)).toBe(401)
  })
})

test('the console takes a token while it is valid, and no other text', async () => {
  const { id, token } = await makeToken(world, { scopes: ['read'] })
  expect((await signIn(world, token)).status).toBe(303)
  expect((await signIn(world, token.replace(/.$/, 'x'))).status).toBe(403)
  await askApi(world, adminKey, `/v1/tokens/${id}`, { method: 'DELETE' })
  expect((await signIn(world, token)).status).toBe(403)
})

test('without an admin key the API is off, for tokens too', async () => {
  const { token } = await makeToken(world, { scopes: ['manage'] })
  world.relay.credentials.adminKey = undefined
  const response = await askApi(world, token, '/v1/events')
  expect([response.status, (await read(response)).code]).toEqual([403, 'api_off'])
})

test('`/healthz` has details for a token for all fleets, and for no other', async () => {
  const health = async (wish: object) => {
    const { token } = await makeToken(world, wish)
    return read(await askApi(world, token, '/healthz'))
  }
  world.relay.host.troubles = async () => ['the queue fails']
  const details = { status: 'troubled', troubles: ['the queue fails'] }
  expect(await health({})).toMatchObject(details)
  expect(await health({ fleets: ['prod', 'test'] })).toEqual({ status: 'troubled' })
})
