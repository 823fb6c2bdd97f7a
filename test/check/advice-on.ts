// A configuration without warnings, and the warnings after a change.
import { describe, expect, test } from 'vitest'
import { adviseOn } from '../../functions/check/advice.ts'
import { listSecrets, readConfig } from '../../functions/config/config.ts'
import { baseConfig } from '../support/world.ts'

export const fleets = baseConfig.fleets as Record<string, object>
export const chat = { kind: 'slack', url: 'https://slack.example/slack-secret', fallback: 'team' }
export const team = { kind: 'teams', url: 'https://teams.example/teams-secret', fallback: 'chat' }
export const byUsers = { match: { source: 'User' }, decide: 'approve' }
/** It has no warnings. */
const good = {
  owners: ['chat'],
  publicUrl: 'https://foghorn.example',
  fleets: { prod: fleets.prod },
  channels: { chat, team },
  policy: [byUsers],
  routes: [{ match: {}, channels: ['chat', 'team'] }],
}
export const all = { match: {}, channels: ['chat', 'team'] }

export function adviceOn(changes: object): string[] {
  const config = readConfig(JSON.stringify({ ...good, ...changes }), {})
  const advice = adviseOn(config)
  for (const secret of listSecrets(config).filter((one) => one.length > 3)) {
    expect(advice.join('\n')).not.toContain(secret)
  }
  return advice
}

/** Changes to the good configuration, and parts of the only advice. */
export type Row = [what: string, changes: object, ...said: string[]]

export function testRows(about: string, rows: Row[]): void {
  describe(`advice on ${about}`, () => {
    test.each(rows)('%s', (_, changes, ...said) => {
      const advice = adviceOn(changes)
      // nothing but what the change brings about
      expect(advice).toHaveLength(1)
      for (const part of said) expect(advice[0]).toContain(part)
    })
  })
}
