// `POST /v1/backup`: who may have it, and what it answers if there is none.
import { beforeEach, expect, test } from 'vitest'
import { FoghornError } from '../../../shared/errors.ts'
import { startRelay, world } from '../../support/relay.ts'
import { askApi, makeToken } from '../../support/tokens.ts'
import { adminKey } from '../../support/world.ts'

beforeEach(() => startRelay())

const post = (key = adminKey) => askApi(world, key, '/v1/backup', { method: 'POST' })
const seen = async (response: Response) => {
  const { code } = (await response.json()) as { code: string }
  return [response.status, code]
}

test('a file of known length, which the log mentions', async () => {
  const bytes = new TextEncoder().encode('a database')
  world.relay.host.abilities.copyDatabase = async () => {
    return { outcome: 'made', bytes: bytes.length, body: new Blob([bytes]).stream() }
  }
  const response = await post()
  expect(response.status).toBe(200)
  expect(response.headers.get('content-length')).toBe('10')
  expect(response.headers.get('content-type')).toBe('application/vnd.sqlite3')
  expect(response.headers.get('cache-control')).toContain('no-store')
  expect(await response.text()).toBe('a database')
  expect(world.lines.join()).toContain('backup_made')
})

test('no token may have it, whatever its scopes', async () => {
  for (const scopes of [['read', 'decide', 'manage'], ['calendar']]) {
    const { token } = await makeToken(world, { scopes })
    expect(await seen(await post(token))).toEqual([403, 'admin_only'])
  }
  expect((await world.app.request('/v1/backup', { method: 'POST' })).status).toBe(401)
})

test('a host without a file says what to do instead', async () => {
  world.relay.host.name = 'azure'
  const response = await post()
  expect(response.status).toBe(501)
  expect(await response.json()).toMatchObject({
    ...{ code: 'backup_unsupported', detail: expect.stringContaining('npm run export') },
  })
})

test('one at a time', async () => {
  world.relay.host.abilities.copyDatabase = async () => ({ outcome: 'busy' })
  const response = await post()
  expect(response.headers.get('retry-after')).toBe('10')
  expect(await seen(response)).toEqual([503, 'backup_busy'])
})

test('a full disk is named, another failure is logged', async () => {
  world.relay.host.abilities.copyDatabase = async () => {
    throw new FoghornError('disk_full', 'The disk is full.')
  }
  expect(await seen(await post())).toEqual([507, 'disk_full'])
  world.relay.host.abilities.copyDatabase = async () => {
    throw new Error('no such file')
  }
  expect(await seen(await post())).toEqual([500, 'internal'])
  expect(world.lines.join()).toContain('no such file')
})
