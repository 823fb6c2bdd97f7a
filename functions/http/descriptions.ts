// All routes that outsiders use, for `GET /openapi.json`. A new route adds its description to the
// list beside it; a test fails without one. The console is for browsers only and has none.
import { backupDescription } from './admin/backup.ts'
import { calendarDescription } from './admin/calendar.ts'
import { adminDescriptions } from './admin/description.ts'
import { metricsDescription } from './admin/metrics.ts'
import { subscriptionDescriptions } from './admin/subscription-description.ts'
import { beaconDescriptions } from './beacons/description.ts'
import type { RouteDescription } from './description.ts'
import { healthDescription } from './health.ts'
import { peopleDescriptions } from './people/description.ts'
import { schemaDescriptions } from './schemas.ts'

export const descriptions: readonly RouteDescription[] = [
  ...adminDescriptions,
  ...subscriptionDescriptions,
  ...beaconDescriptions,
  ...peopleDescriptions,
  ...schemaDescriptions,
  healthDescription,
  metricsDescription,
  calendarDescription,
  backupDescription,
]
