// The kinds of alerts in one table, and what an alert says. A new kind is a line in features/alerts.ts.
import { alertKinds as ofFeatures } from '../../features/alerts.ts'
import type { AlertKind, AlertText, AlertTraits, FleetAlert } from '../delivery/alert-kind.ts'

const channelTest: AlertTraits = {
  text: ({ names: [channel = ''], reasons: [by = ''] }) => ({
    title: `Test of channel "${channel}"`,
    lines: [
      'This is a test: messages of Foghorn reach this channel. Nobody has to act.',
      `Requested by ${by}.`,
    ],
  }),
  page: () => '',
  ends: 'untold',
}

export const alertKinds: Record<AlertKind, AlertTraits> = {
  ...ofFeatures,
  channel_test: channelTest,
}

/** A stored alert of a feature that is gone. */
const unknown: AlertTraits = {
  text: ({ alert, names, reasons }) => ({ title: `${alert} ${names.join(', ')}`, lines: reasons }),
  page: () => '',
  ends: 'untold',
}

export function alertTraits({ alert }: Pick<FleetAlert, 'alert'>): AlertTraits {
  return Object.hasOwn(alertKinds, alert) ? alertKinds[alert] : unknown
}

/** Whether the alert says that its cause is over. */
export function isGoodNews({ news }: FleetAlert): boolean {
  return news?.form === 'over'
}

export function alertText(fleet: string, about: FleetAlert, at: number): AlertText {
  return alertTraits(about).text(about, { fleet, at })
}
