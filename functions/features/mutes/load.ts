// The mutes in the store, in one row: few, and read with every step that people are told of.
import { createRows } from '../../store/small-rows.ts'
import type { SmallRowStore } from '../../store/store.ts'
import type { Mute } from './rule.ts'

export const mutesRow = createRows<{ all: Mute[] }>('mutes')

export async function loadMutes(store: SmallRowStore): Promise<{ mutes: Mute[] }> {
  return { mutes: (await mutesRow.read(store))?.all ?? [] }
}
