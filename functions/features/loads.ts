// What features read of the store at a commit. `isNews`: it has moments.
import type { Loaded } from '../core/event/stage.ts'
import type { SmallRowStore } from '../store/store.ts'
import { loadMutes } from './mutes/load.ts'
import { loadSubscriptions } from './subscriptions/load.ts'

export const loads: readonly ((store: SmallRowStore, isNews: boolean) => Promise<Loaded>)[] = [
  loadMutes,
  loadSubscriptions,
]
