// What features show: addresses of the API, and parts of the console.
import type { ReadAbsent } from '../http/console/absent.ts'
import type { ConsolePart } from '../http/console/part.ts'
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

export const apiRoutes: readonly Route[] = [
  streamRoute,
  ...noteRoutes,
  ...muteRoutes,
  calendarRoute,
  metricsRoute,
  backupRoute,
  reloadRoute,
]
export const apiGroups = { ...muteGroup }
export const consoleParts: readonly ConsolePart[] = [muteConsole, insightsConsole]
export const absentReaders: readonly ReadAbsent[] = [readSilence]
export const nowParts: readonly ReadPart[] = [muteNow]
