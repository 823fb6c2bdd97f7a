import type { ApiFeature } from '../../support/api-feature.ts'
import { eventId } from '../../support/world.ts'

const path = '/v1/events/prod'

export const noteApi: ApiFeature = {
  addresses: {
    'PUT /v1/events/:fleet/:eventId/note': {
      scope: 'decide',
      about: (fleet) => ({ path: `/v1/events/${fleet}/${eventId}/note`, body: { text: 'wait' } }),
    },
    'DELETE /v1/events/:fleet/:eventId/note': {
      scope: 'decide',
      about: (fleet) => ({ path: `/v1/events/${fleet}/${eventId}/note` }),
    },
  },
  async answers(ask) {
    const method = 'PUT'
    await ask('noteEvent', { path: `${path}/${eventId}/note`, method, body: { text: 'wait' } })
    await ask('noteEvent', { path: `${path}/${eventId}/note`, method, body: {} })
    await ask('noteEvent', { path: `${path}/none/note`, method, body: { text: 'wait' } })
    await ask('getEvent', { path: `${path}/${eventId}` })
    await ask('removeNote', { path: `${path}/${eventId}/note`, method: 'DELETE' })
    await ask('removeNote', { path: `${path}/none/note`, method: 'DELETE' })
  },
  bodies: {
    note: {
      path: '/v1/events/{fleet}/{eventId}/note',
      address: `${path}/${eventId}/note`,
      method: 'put',
      limits: [0, 1, 200, 201].map((length) => ({ text: 'x'.repeat(length) })),
    },
  },
}
