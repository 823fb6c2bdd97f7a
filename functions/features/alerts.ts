// The kinds of alerts that features send.
import { problemAlerts } from './problems/alerts.ts'
import { silenceAlerts } from './silence/alerts.ts'

export const alertKinds = { ...silenceAlerts, ...problemAlerts }
