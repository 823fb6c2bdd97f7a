// What the tests of the API know of features.
import type { ApiFeature } from '../support/api-feature.ts'
import { backupApi } from './backup/api.ts'
import { calendarApi } from './calendar/api.ts'
import { metricsApi } from './metrics/api.ts'
import { muteApi } from './mutes/api.ts'
import { noteApi } from './notes/api.ts'
import { reloadApi } from './reload/api.ts'
import { streamApi } from './stream/api.ts'
import { subscriptionApi } from './subscriptions/api.ts'

export const apiFeatures: ApiFeature[] = [
  muteApi,
  noteApi,
  calendarApi,
  backupApi,
  metricsApi,
  reloadApi,
  streamApi,
  subscriptionApi,
]
