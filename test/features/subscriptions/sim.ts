// Subscriptions in the simulation. Its book of them is part of the world, as it checks how the relay sends to them.
import type { SimFeature } from '../../sim/feature.ts'
import { spoiltSubscriptions } from './sim-spoilt.ts'

export const subscriptionSim: SimFeature = {
  name: 'owners of subscriptions',
  encounters: {
    'a subscription misses what happens while it is paused': [],
    'a subscription is disabled': [],
    'an endpoint gets days later what it missed': ['endpoint_away'],
  },
  spoilt: spoiltSubscriptions,
  subscribes: true,
}
