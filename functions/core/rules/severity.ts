// The severity of incidents. PagerDuty treats `critical` and `error` as urgent, and may wake
// people. The documentation shows this table.
import { adviceType } from '../../../shared/document.ts'
import type { Notification } from '../delivery/delivery.ts'
import { isUnannounced } from '../event/event.ts'

export type Severity = 'critical' | 'error' | 'warning' | 'info'

/** Microsoft's own sample approves a shorter pause without asking. */
const shortFreezeSeconds = 9

/** `asked`: people are asked. `otherwise`: somebody has decided, or the policy does not ask. */
interface Row {
  asked: Severity
  otherwise: Severity
  /** Azure started it without notice. */
  unannounced: Severity
}

export const severities: Record<string, Row> = {
  'short Freeze': { asked: 'info', otherwise: 'info', unannounced: 'info' },
  Freeze: { asked: 'warning', otherwise: 'info', unannounced: 'warning' },
  Reboot: { asked: 'error', otherwise: 'warning', unannounced: 'critical' },
  Redeploy: { asked: 'error', otherwise: 'warning', unannounced: 'critical' },
  Preempt: { asked: 'error', otherwise: 'warning', unannounced: 'warning' },
  [adviceType]: { asked: 'info', otherwise: 'info', unannounced: 'info' },
  Terminate: { asked: 'error', otherwise: 'warning', unannounced: 'critical' },
}

const unknownType: Row = { asked: 'error', otherwise: 'warning', unannounced: 'critical' }

/** Stuck is urgent for every type. The end of an incident never is. */
export function chooseSeverity({
  moment,
  event,
}: Pick<Notification, 'moment' | 'event'>): Severity {
  switch (moment) {
    case 'completed':
    case 'cancelled':
    case 'approved':
    case 'declined':
      return 'info'
    case 'lost':
      return 'warning'
    case 'stuck':
      return 'error'
    default:
      return forType(event)
  }
}

function forType({ facts, policy, started, decided }: Notification['event']): Severity {
  const { eventType, durationSeconds: seconds = -1 } = facts
  // Azure's -1 means unknown, not short
  const short = eventType === 'Freeze' && seconds >= 0 && seconds < shortFreezeSeconds
  const name = short ? 'short Freeze' : eventType
  const row = (Object.hasOwn(severities, name) && severities[name]) || unknownType
  if (isUnannounced({ started, facts })) return row.unannounced
  const asks = policy.decide === 'ask' && decided === undefined
  return asks ? row.asked : row.otherwise
}
