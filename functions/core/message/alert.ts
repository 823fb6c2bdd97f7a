// The texts of alerts to owners: what is wrong, what follows from it, and what to do.
import type { Alert } from '../event/event.ts'
import { maxOpenOfBeacon, maxOpenOfFleet } from '../event/share.ts'

interface AlertText {
  title: string
  lines: string[]
}

const texts: Record<Alert['kind'], (fleet: string, alert: Alert) => AlertText> = {
  over_limits: (fleet, { reasons }) => ({
    title: `Fleet "${fleet}" is over its limits: the relay refuses events`,
    lines: [
      `${reasons.map((reason) => `${reason[0]?.toUpperCase()}${reason.slice(1)}.`).join(' ')}`,
      'The relay stores no new events of these reports, and nobody is notified of them.',
      'Check these VMs. If you do not know them, replace the key of the fleet.',
    ],
  }),
}

export function alertText(fleet: string, alert: Alert): AlertText {
  return texts[alert.kind](fleet, alert)
}

export function alertFacts({ kind, vms }: Alert): { name: string; value: string }[] {
  const limits = `${maxOpenOfBeacon} open events that one beacon alone reports, ${maxOpenOfFleet} in a fleet`
  return [
    { name: 'Reported by', value: vms.join(', ') },
    ...(kind === 'over_limits' ? [{ name: 'Limits', value: limits }] : []),
  ]
}
