// What features do with an open event and its messages, in the order of effect, how an event shows it, and their
// tabs in the console.

import type { Display } from '../core/event/display.ts'
import type { Stage } from '../core/event/stage.ts'
import { insightsTab } from './insights/rule.ts'
import { muteDisplay, muteSteps, mutes } from './mutes/rule.ts'
import { noteDisplay, noteFields, noteSteps } from './notes/rule.ts'

export const stages: readonly Stage[] = [mutes]
export const displays: readonly Display[] = [muteDisplay, noteDisplay]
export const stepWords = { ...muteSteps, ...noteSteps }
/** What people wrote about an event, and what stays if its end was a mistake. */
export const keptFields = [...noteFields]
export const tabs = { ...insightsTab }
