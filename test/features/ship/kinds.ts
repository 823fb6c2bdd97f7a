// The rows of the contract's table for the services of Azure that events are shipped to.
import { shipRule } from '../../simulator/sinks/ship.ts'
import type { Sinks } from '../../simulator/sinks.ts'

type ShipUrl = Pick<Sinks, 'shipUrl'>

export const shipKinds = {
  logs: {
    group: 'ship',
    layouts: ['completed'],
    channel: { kind: 'logs', endpoint: 'https://logs.example', rule: shipRule },
    simulated: ({ shipUrl }: ShipUrl) => {
      return { kind: 'logs', endpoint: shipUrl('logs'), rule: shipRule } as const
    },
    contentType: 'application/json',
    path: `/dataCollectionRules/${shipRule}/streams/Custom-FoghornEvents?api-version=2023-01-01`,
  },
  'event-hubs': {
    group: 'ship',
    layouts: ['completed'],
    channel: { kind: 'event-hubs', endpoint: 'https://hubs.example/foghorn' },
    simulated: ({ shipUrl }: ShipUrl) => {
      return { kind: 'event-hubs', endpoint: shipUrl('event-hubs') } as const
    },
    contentType: 'application/vnd.microsoft.servicebus.json',
    path: '/messages?api-version=2014-01',
  },
  'event-grid': {
    group: 'ship',
    layouts: ['a channel refuses everything'],
    channel: { kind: 'event-grid', endpoint: 'https://topic.example/api/events' },
    simulated: ({ shipUrl }: ShipUrl) => {
      return { kind: 'event-grid', endpoint: shipUrl('event-grid') } as const
    },
    contentType: 'application/cloudevents-batch+json',
    path: '?api-version=2018-01-01',
  },
} as const
