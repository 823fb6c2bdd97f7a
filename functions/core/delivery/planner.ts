// Who gets deliveries beside the routes: a feature plans them, in the same write as the moments.
import type { Loaded } from '../event/stage.ts'
import type { Delivery } from './delivery.ts'
import type { MomentEntry } from './moment-log.ts'

export type Planner = (loaded: Loaded, moments: MomentEntry[], now: number) => Delivery[]
