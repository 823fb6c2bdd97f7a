// The color and the sign of a message.
import { isAdvice } from '../../../shared/document.ts'
import type { Notification } from '../delivery/delivery.ts'
import { isUnannounced } from '../event/event.ts'
import { listUnapproved } from './approval.ts'
import { isGuess } from './phrases.ts'
import type { Tone } from './shape.ts'
import { asksFor } from './step.ts'

/** The shape, for those who do not see the colour, or only a preview. */
export function chooseSign({ moment, event }: Notification, now: number): string {
  if (moment === 'lost' || isGuess(event.ended)) return '❔'
  if (moment === 'stuck') return '🛑'
  // Azure was told about the others
  if (event.ended === undefined && listUnapproved(event).length > 0) return '⚠️'
  if (event.ended?.inferred === 'drill_overdue') return 'ℹ️'
  if (moment === 'completed' || moment === 'cancelled') return '✅'
  if (moment === 'approved' || moment === 'started') return '▶️'
  const isAsked = asksFor(event, now) && event.decided === undefined
  return isAsked ? '⏳' : 'ℹ️'
}

export function chooseTone({ moment, event }: Notification): Tone {
  switch (moment) {
    case 'completed':
    case 'cancelled':
      // a VM may still restart
      return isGuess(event.ended) ? 'info' : 'good'
    case 'stuck':
    case 'lost':
      return 'danger'
    case 'started':
      if (isAdvice(event.facts)) return 'info'
      if (isUnannounced(event)) return 'danger'
      return event.facts.eventType === 'Freeze' ? 'info' : 'warning'
    case 'scheduled':
    case 'changed':
    case 'not_ready':
    case 'reminder':
      return event.facts.eventType === 'Freeze' || isAdvice(event.facts) ? 'info' : 'warning'
    default:
      return 'info'
  }
}
