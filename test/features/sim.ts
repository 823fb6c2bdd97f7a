// What features bring to the worlds of the simulation.
import type { SimFeature } from '../sim/feature.ts'
import { muteSim } from './mutes/sim.ts'
import { silenceSim } from './silence/sim.ts'
import { subscriptionSim } from './subscriptions/sim.ts'

export const simFeatures: SimFeature[] = [muteSim, silenceSim, subscriptionSim]
