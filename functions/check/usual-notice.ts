// How long before NotBefore Azure usually announces an event, by type.
import { type eventTypes, knownType } from '../../shared/document.ts'

/**
 * Seconds, as Microsoft documents them; in practice sometimes less. Terminate: the owner of the
 * scale set chooses 5 to 15 min. Azure announces failing hardware days ahead, or not at all.
 */
const usualNoticeSeconds: Record<(typeof eventTypes)[number], number> = {
  Freeze: 900,
  Reboot: 900,
  Redeploy: 600,
  Preempt: 30,
  Terminate: 900,
}

/** Undefined for a type that Foghorn does not know. */
export function usualNoticeOf(eventType: string): number | undefined {
  const type = knownType(eventType)
  return type && usualNoticeSeconds[type]
}
