// What the reference in docs/ says of features: their log events and error codes.
import type { MetricText } from '../core/counts.ts'
import { backupCodes, backupEvents } from './backup/texts.ts'
import { metrics } from './metrics/rule.ts'
import { muteCodes, muteEvents } from './mutes/texts.ts'
import { noteCodes, noteEvents } from './notes/texts.ts'
import { problemEvents } from './problems/texts.ts'
import { reloadCodes } from './reload/texts.ts'
import { silenceEvents } from './silence/texts.ts'
import { streamCodes } from './stream/texts.ts'
import { subscriptionCodes, subscriptionEvents } from './subscriptions/texts.ts'

export const metricTexts: readonly MetricText[] = [...metrics]
export const logEvents = {
  ...muteEvents,
  ...noteEvents,
  ...backupEvents,
  ...problemEvents,
  ...silenceEvents,
  ...subscriptionEvents,
}
export const errorCodes = {
  ...muteCodes,
  ...noteCodes,
  ...backupCodes,
  ...reloadCodes,
  ...streamCodes,
  ...subscriptionCodes,
}
