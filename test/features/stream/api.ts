import { expect } from 'vitest'
import type { ApiFeature } from '../../support/api-feature.ts'

const path = '/v1/events/stream'

export const streamApi: ApiFeature = {
  addresses: {
    'GET /v1/events/stream': {
      scope: 'read',
      about: (fleet) => ({ path: `${path}?wait=0&after=0&fleet=${fleet}` }),
    },
  },
  async answers(ask) {
    const { events } = await ask('followEvents', { path: `${path}?wait=0&after=0` })
    expect(events).not.toEqual([])
    await ask('followEvents', { path: `${path}?after=x` })
  },
  // a cursor is no text of a reader's, and a wait takes its time
  query: { [path]: { usual: '&wait=0', untried: ['after', 'wait'] } },
}
