// All routes that outsiders use. The console is for browsers only and has its own.

import { apiRoutes } from '../features/faces.ts'
import { azureRoutes } from './admin/azure.ts'
import { backupRoute } from './admin/backup.ts'
import { beaconRoutes } from './admin/beacons.ts'
import { channelRoutes } from './admin/channels.ts'
import { replayRoute } from './admin/deliveries.ts'
import { drillRoute } from './admin/drills.ts'
import { eventRoutes } from './admin/events.ts'
import { metricsRoute } from './admin/metrics.ts'
import { reloadRoute } from './admin/reload.ts'
import { streamRoute } from './admin/stream.ts'
import { subscriptionActionRoutes } from './admin/subscription-actions.ts'
import { subscriptionRoutes } from './admin/subscriptions.ts'
import { tokenRoutes } from './admin/tokens.ts'
import { reportRoutes } from './beacons/reports.ts'
import { healthRoute } from './health.ts'
import { pageRoutes } from './people/approve.ts'
import { pressRoute } from './people/slack.ts'
import { activityRoute } from './people/teams.ts'
import type { Route } from './route.ts'
import { documentRoutes } from './schemas.ts'

export const routes: readonly Route[] = [
  streamRoute,
  ...eventRoutes,
  ...beaconRoutes,
  ...channelRoutes,
  replayRoute,
  ...apiRoutes,
  drillRoute,
  ...tokenRoutes,
  ...subscriptionRoutes,
  ...subscriptionActionRoutes,
  ...reportRoutes,
  ...azureRoutes,
  ...pageRoutes,
  pressRoute,
  activityRoute,
  ...documentRoutes,
  healthRoute,
  metricsRoute,
  backupRoute,
  reloadRoute,
]
