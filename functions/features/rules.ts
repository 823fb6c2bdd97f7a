// What features do with an open event and its messages, in the order of effect, and how an event shows it.

import type { Face } from '../core/event/face.ts'
import type { Stage } from '../core/event/stage.ts'
import { muteFace, muteSteps, mutes } from './mutes/rule.ts'

export const stages: readonly Stage[] = [mutes]
export const faces: readonly Face[] = [muteFace]
export const stepWords = { ...muteSteps }
