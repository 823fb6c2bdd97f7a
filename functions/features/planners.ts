// Who gets deliveries beside the routes.
import type { Planner } from '../core/delivery/planner.ts'
import { planForSubscriptions } from './subscriptions/rule.ts'

export const planners: readonly Planner[] = [planForSubscriptions]
