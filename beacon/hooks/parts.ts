// What the loop of hooks needs, and what the other loops of the beacon use of it.
import type { Answer, Report } from '../../shared/report.ts'
import type { RunnerLink } from './link.ts'
import type { HookSettings } from './settings.ts'
import type { CourseStore } from './store.ts'

export interface HookParts {
  link: RunnerLink
  store: CourseStore
  settings: Pick<HookSettings, 'leadMs' | 'eventTypes'>
}

/** What the other loops of the beacon use. */
export interface Hooks {
  /** There is a new document. */
  documentSeen(): void
  /** For the report that is built now. Undefined while no runner answers. */
  report(): Report['hooks']
  /** The relay has answered the report that was built last. */
  answered(preparations: Answer['preparations']): void
  loop(stop: AbortSignal): Promise<void>
}
