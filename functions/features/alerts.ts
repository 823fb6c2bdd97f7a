// The kinds of alerts that features send.
import { problemAlerts } from './problems/alerts.ts'
import { silenceAlerts, silenceExamples } from './silence/alerts.ts'

export const alertKinds = { ...silenceAlerts, ...problemAlerts }
export const alertExamples = [...silenceExamples]
