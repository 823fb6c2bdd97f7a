// What features read of the store for `settle`, at a commit that is news.
import type { Loaded } from '../core/event/stage.ts'
import type { SmallRowStore } from '../store/store.ts'
import { loadMutes } from './mutes/load.ts'

export const loads: readonly ((store: SmallRowStore) => Promise<Loaded>)[] = [loadMutes]
