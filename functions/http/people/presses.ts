// The addresses for services that say that a button was pressed. To add one, write its route and add it here.
import type { Route } from '../route.ts'
import { pressRoute } from './slack.ts'
import { activityRoute } from './teams.ts'

export const pressRoutes: readonly Route[] = [pressRoute, activityRoute]
