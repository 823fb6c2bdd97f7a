import { expect } from 'vitest'
import type { ApiFeature } from '../../support/api-feature.ts'
import { world } from '../../support/relay.ts'
import { askApi } from '../../support/tokens.ts'

const path = '/v1/mutes'

export const muteApi: ApiFeature = {
  things: {
    async make(world, token, fleet) {
      const body = { fleet, tag: fleet, minutes: 60 }
      const made = await askApi(world, token, path, { method: 'POST', body })
      return (await made.json()) as { id: string }
    },
    lists: [path],
  },
  addresses: {
    'GET /v1/mutes': { scope: 'read', about: () => ({ path }) },
    'POST /v1/mutes': {
      scope: 'manage',
      about: (fleet) => ({ path, body: { fleet, minutes: 5 } }),
    },
    'DELETE /v1/mutes/:id': { scope: 'manage', about: (_, id) => ({ path: `${path}/${id}` }) },
  },
  async answers(ask) {
    const post = (body: object) => ask('createMute', { path, method: 'POST', body })
    const vms = { scaleSet: 'web', tag: 'role=web' }
    const { id, until } = await post({ fleet: 'prod', ...vms, minutes: 60, reason: 'work' })
    expect(until).toBe(new Date(world.clock.now + 3_600_000).toISOString())
    await post({ fleet: 'prod', minutes: 0 })
    await post({ fleet: 'none', minutes: 1 })
    await ask('listMutes', { path })
    expect(await ask('endMute', { path: `${path}/${id}`, method: 'DELETE' })).toBeUndefined()
    await ask('endMute', { path: `${path}/${id}`, method: 'DELETE' })
  },
  bodies: {
    mute: { path, limits: [0, 1, 43_200, 43_201].map((minutes) => ({ fleet: 'prod', minutes })) },
  },
}
