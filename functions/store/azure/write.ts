// Writes what commit.ts decided: adds index entries, changes the rows of one partition unless another
// writer was faster, and then drops entries. An entry that leads to others is added first and
// dropped last.
import type { Writes } from './commit.ts'
import type { Parts } from './parts.ts'
import type { Change, Row } from './rows.ts'
import {
  deliveryPartition,
  entriesOf,
  isEntryOf,
  isSameEntry,
  momentRow,
  ranges,
  toHeldEvent,
} from './stored.ts'
import { type Entry, partitions } from './time-index.ts'

/** The new etags of the changed rows, empty if they are not known. False: another writer was faster. */
type Written = string[] | false

export async function write(
  parts: Parts,
  partition: string,
  writes: Writes,
  now: number,
  /** Rows for lists. After a crash they may be there without the event, like its entries. */
  alsoBefore: () => Promise<void> = async () => {},
): Promise<Written> {
  await parts.together([alsoBefore, () => addEntries(parts, [{ partition, writes }], now)])
  return changeRows(parts, partition, writes)
}

/** The first half: adds the entries of several partitions' rows. */
export async function addEntries(
  { index }: Parts,
  all: { partition: string; writes: Writes }[],
  now: number,
): Promise<void> {
  for (const { partition, writes } of all) guardTargets(partition, writes)
  const targets = new Map(
    all.flatMap(({ writes }) => writes.add).map(({ entry, target }) => [entry, target]),
  )
  const { leading, others } = split([...targets.keys()])
  await index.add(leading, (entry) => targets.get(entry)!, now)
  await index.add(others, (entry) => targets.get(entry)!, now)
}

/** Removes entries, as `Index.drop`. */
export async function dropEntries({ index }: Pick<Parts, 'index'>, entries: Entry[]) {
  const { leading, others } = split(entries)
  if (await index.drop(others)) await index.drop(leading)
}

/** After a crash, an entry in the history of all subscriptions leads to the one in their list. */
function split(entries: Entry[]) {
  const isLeading = ({ partition }: Entry) => partition === partitions.history()
  return {
    leading: entries.filter(isLeading),
    others: entries.filter((entry) => !isLeading(entry)),
  }
}

/** The second half. */
export async function changeRows(
  parts: Parts,
  partition: string,
  { changes, add, drop }: Writes,
): Promise<Written> {
  const { rows, index } = parts
  const changed = await rows.change(partition, changes)
  if (changed === 'conflict') {
    const found = await rows.list(partition, ranges.withoutViews)
    const named = entriesOf(toHeldEvent(found))
    const ofMoments = add.filter(({ entry }) => entry.partition === partitions.unlogged)
    const own = add.filter((one) => !ofMoments.includes(one)).map(({ entry }) => entry)
    const unnamed = own.filter((entry) => !named.some((one) => isSameEntry(one, entry)))
    const unwritten = await entriesWithoutMoment(parts, partition, ofMoments)
    await dropEntries({ index }, [...unnamed, ...unwritten])
    // The client writes again if an answer is lost, so the conflict may be with our own rows. Then a
    // row names an entry of ours or, if another worker has dropped those, is as we wrote it.
    const isWritten = unnamed.length < own.length || isThere(found, changes[0]!)
    if (!isWritten) return false
  }
  await dropEntries({ index }, drop)
  return changed === 'conflict' ? [] : changed
}

/** Those that no row of a moment names. */
async function entriesWithoutMoment(
  { rows, together }: Parts,
  partition: string,
  ofMoments: Writes['add'],
): Promise<Entry[]> {
  const works = ofMoments.map(({ entry, target: { id = '' } }) => async () => {
    const row = await rows.read(partition, momentRow(id))
    return row !== undefined && isEntryOf(row.body, entry.row) ? [] : [entry]
  })
  return (await together(works)).flat()
}

/** An entry that leads to another partition would be stale, and its delivery lost. */
function guardTargets(partition: string, { add }: Writes): void {
  const astray = add.find(({ target }) => deliveryPartition(target) !== partition)
  if (astray === undefined) return
  const { id, channel } = astray.target
  throw new Error(`delivery "${id}" to "${channel}" does not belong in partition "${partition}"`)
}

/** Whether the row is as the change makes it. */
function isThere(found: Row[], change: Change): boolean {
  const body = 'body' in change ? change.body : undefined
  return found.find(({ row }) => row === change.row)?.body === body
}
