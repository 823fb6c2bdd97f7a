// What features do with an open event and its messages, in the order of effect, how an event shows it, and their
// tabs in the console.

import type { Face } from '../core/event/face.ts'
import type { Stage } from '../core/event/stage.ts'
import { insightsTab } from './insights/rule.ts'
import { muteFace, muteSteps, mutes } from './mutes/rule.ts'

export const stages: readonly Stage[] = [mutes]
export const faces: readonly Face[] = [muteFace]
export const stepWords = { ...muteSteps }
export const tabs = { ...insightsTab }
