// The owners of subscriptions in the worlds of the simulation.
import type { Own } from '../sim/owner.ts'
import { ownSubscription } from './subscriptions/sim-owners.ts'

export const owners: Own[] = [ownSubscription]
