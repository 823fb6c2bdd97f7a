// Which rows a commit removes: ended deliveries, and the views that only they have. Pure.
import { type Change, maxChanges } from './rows.ts'
import { type HeldEvent, isPending } from './stored.ts'
import type { Entry } from './time-index.ts'

/** Its own and that of its view. */
const rowsEach = 2

/** `changes`: the others of the commit. If the transaction has no room, some deliveries stay. */
export function forgetDeliveries(
  { deliveries }: HeldEvent,
  ids: string[],
  changes: Change[],
): { changes: Change[]; drop: Entry[] } {
  const room = Math.max(0, Math.floor((maxChanges - changes.length) / rowsEach))
  const old = deliveries
    .filter((one) => ids.includes(one.stored.delivery.id) && !isPending(one))
    .slice(0, room)
  const kept = deliveries.filter((one) => !old.includes(one))
  const needed = new Set([
    ...changes.map(({ row }) => row),
    ...kept.map(({ stored }) => stored.view),
  ])
  const views = new Set(old.map(({ stored }) => stored.view).filter((view) => !needed.has(view)))
  return {
    changes: [
      ...old.map(({ row, etag }): Change => ({ kind: 'remove', row, etag })),
      ...[...views].map((row): Change => ({ kind: 'remove', row })),
    ],
    drop: old.flatMap(({ stored }) => stored.entry ?? []),
  }
}
