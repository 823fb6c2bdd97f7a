// What features show: addresses of the API, and parts of the console.
import type { ReadAbsent } from '../http/console/absent.ts'
import type { ChannelSection, ConsolePart } from '../http/console/part.ts'
import type { ReadPart } from '../http/console/snapshot.ts'
import type { Route } from '../http/route.ts'
import { backupRoute } from './backup/http.ts'
import { calendarRoute } from './calendar/http.ts'
import { insightsConsole } from './insights/console.ts'
import { metricsRoute } from './metrics/http.ts'
import { muteConsole, muteNow } from './mutes/console.ts'
import { muteGroup, muteRoutes } from './mutes/http.ts'
import { noteRoutes } from './notes/http.ts'
import { reloadRoute } from './reload/http.ts'
import { readSilence } from './silence/console.ts'
import { streamRoute } from './stream/http.ts'
import { subscriptionConsole, subscriptionSection } from './subscriptions/console.ts'
import { subscriptionGroup, subscriptionRoutes } from './subscriptions/http.ts'
import { subscriptionActionRoutes } from './subscriptions/http-actions.ts'

export const apiRoutes: readonly Route[] = [
  streamRoute,
  ...noteRoutes,
  ...muteRoutes,
  calendarRoute,
  metricsRoute,
  backupRoute,
  reloadRoute,
  ...subscriptionRoutes,
  ...subscriptionActionRoutes,
]
export const apiGroups = { ...muteGroup, ...subscriptionGroup }
export const consoleParts: readonly ConsolePart[] = [
  muteConsole,
  insightsConsole,
  subscriptionConsole,
]
export const channelSections: readonly ChannelSection[] = [subscriptionSection]
export const absentReaders: readonly ReadAbsent[] = [readSilence]
export const nowParts: readonly ReadPart[] = [muteNow]
