// The kinds of alerts that features send.
import { problemAlerts } from './problems/alerts.ts'
import { silenceAlerts, silenceExamples } from './silence/alerts.ts'
import { subscriptionAlerts } from './subscriptions/alerts.ts'

export const alertKinds = { ...silenceAlerts, ...problemAlerts, ...subscriptionAlerts }
export const alertExamples = [...silenceExamples]
