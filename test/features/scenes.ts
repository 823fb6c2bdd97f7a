// Messages of features, for the tests of notifiers.
import type { Outgoing } from '../../functions/notify/notifier.ts'
import { problemScenes } from './problems/scenes.ts'
import { silenceScenes } from './silence/scenes.ts'

export const alertScenes: Record<string, Outgoing> = { ...problemScenes, ...silenceScenes }
