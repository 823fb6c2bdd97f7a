// `foghorn mute`, beside a relay.
import { serve } from '@hono/node-server'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { mute, parseMinutes } from '../../../functions/features/mutes/cli.ts'
import { playCommand } from '../../support/command.ts'
import { startRelay, world } from '../../support/relay.ts'
import { adminKey } from '../../support/world.ts'

let server: ReturnType<typeof serve>
let port: number

beforeEach(async () => {
  await startRelay()
  await new Promise<void>((resolve) => {
    server = serve({ fetch: world.app.fetch, port: 0, hostname: '127.0.0.1' }, (address) => {
      port = address.port
      resolve()
    })
  })
})
afterEach(() => {
  server.close()
  world.store.close()
})

const play = (...words: string[]) => {
  const environment = { FOGHORN_URL: `http://127.0.0.1:${port}`, FOGHORN_ADMIN_KEY: adminKey }
  return playCommand('mute', mute, words, environment)
}

test('a mute is added, listed and ended', async () => {
  expect((await play()).out).toBe('Nothing is muted.\n')
  const { code, out } = await play(
    'prod',
    '--for',
    '2h',
    '--scale-set',
    'web',
    '--reason',
    'update',
  )
  expect([code, out]).toEqual([
    0,
    expect.stringContaining('Events of prod, scale set web are muted'),
  ])
  const listed = JSON.parse((await play('--json')).out)
  expect(listed).toMatchObject({ fleet: 'prod', scaleSet: 'web', reason: 'update' })
  expect((await play()).out).toMatch(/^EVENTS OF .*\nprod, scale set web .* update /)
  expect((await play('--end', listed.id)).code).toBe(0)
  expect((await play()).out).toBe('Nothing is muted.\n')
})

test('a fleet that is unknown, and a time that is none', async () => {
  expect((await play('nowhere', '--for', '1h')).err).toContain('nowhere')
  const { code, err } = await play('prod')
  expect([code, err]).toEqual([2, expect.stringContaining('--for is missing; write 30m, 2h or 1d')])
  expect([parseMinutes('30m'), parseMinutes('2h'), parseMinutes('1d')]).toEqual([30, 120, 1_440])
  expect(() => parseMinutes('2 hours')).toThrow('--for is "2 hours"')
})
