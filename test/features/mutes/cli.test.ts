// `foghorn mute`, beside a relay.
import { expect, test } from 'vitest'
import { mute, parseMinutes } from '../../../functions/features/mutes/cli.ts'
import { servedForEach } from '../../support/served.ts'

const served = servedForEach()
const play = (...words: string[]) => served('mute', mute, words)

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
