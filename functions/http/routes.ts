// All routes that outsiders use. The console is for browsers only and has its own.

import { apiRoutes } from '../features/faces.ts'
import { azureRoutes } from './api/azure.ts'
import { beaconRoutes } from './api/beacons.ts'
import { channelRoutes } from './api/channels.ts'
import { replayRoute } from './api/deliveries.ts'
import { drillRoute } from './api/drills.ts'
import { eventRoutes } from './api/events.ts'
import { tokenRoutes } from './api/tokens.ts'
import { reportRoutes } from './beacons/reports.ts'
import { healthRoute } from './health.ts'
import { pageRoutes } from './people/approve.ts'
import { pressRoutes } from './people/presses.ts'
import type { Route } from './route.ts'
import { documentRoutes } from './schemas.ts'

export const routes: readonly Route[] = [
  ...eventRoutes,
  ...beaconRoutes,
  ...channelRoutes,
  replayRoute,
  ...apiRoutes,
  drillRoute,
  ...tokenRoutes,
  ...reportRoutes,
  ...azureRoutes,
  ...pageRoutes,
  ...pressRoutes,
  ...documentRoutes,
  healthRoute,
]
