// Takes the slot of an event, for a rule with `maxConcurrent`. Asking again changes nothing. A holder
// whose event is over does not count while it is over, so a crash leaves nothing behind.
import type { EventRecord } from '../core/event/event.ts'
import { slotToTake } from '../core/event/rule-approves.ts'
import {
  areEnough,
  asGrown,
  findShared,
  type Holder,
  judgeHolder,
  listRivals,
  maxBehind,
  type SlotAnswer,
  type SlotAsked,
  type SlotRequest,
  slotRequestId,
  takeSlot as takeIn,
} from '../core/event/slots.ts'
import { slotRows } from '../store/small-rows.ts'
import type { EventStore, SmallRowStore } from '../store/store.ts'
import { readWhole } from './read-whole.ts'
import { buildContext, type Relay } from './relay.ts'

/** If other workers were faster each time, the event asks again some seconds later. */
const maxAttempts = 10

type SlotStore = SmallRowStore & Pick<EventStore, 'readEvent'>

/** Asks for the slot of the stored event, if it needs one now. */
export async function takeSlotIfDue(
  relay: Relay,
  before: EventRecord | undefined,
  now: number,
): Promise<SlotAsked | undefined> {
  const { rules, listeningSince } = buildContext(relay)
  const wish = before && slotToTake(before, rules, { now, listeningSince })
  if (before === undefined || wish === undefined) return undefined
  const { store, host } = relay
  return { wish: slotRequestId(wish), answer: await takeSlot(store, before, wish, now, host.pause) }
}

async function readSlots(store: SlotStore, fleet: string) {
  return (await slotRows.read(store, fleet)) ?? { version: 0, holders: [] }
}

export async function takeSlot(
  store: SlotStore,
  own: Pick<EventRecord, 'fleet' | 'eventId' | 'epoch'>,
  wish: SlotRequest,
  now: number,
  pause: () => Promise<void> = async () => {},
): Promise<SlotAnswer> {
  const { fleet } = own
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { version, holders: stored } = await readSlots(store, fleet)
    const { holders, ended, behind } = await judgeHolders(store, own, stored, wish, now, pause)
    const taken = takeIn(holders, own, wish, ended)
    const isWritten =
      taken.holders === stored ||
      (await slotRows.write(store, { holders: taken.holders }, version, fleet)) === 'written'
    if (!isWritten) continue
    if (taken.isHeld) return { outcome: 'held' }
    return { outcome: 'waits', behind: behind.slice(0, maxBehind) }
  }
  return { outcome: 'waits', behind: [] }
}

/**
 * The holders by what is stored of their events now, and the VMs of those that count beside this event. Once enough of
 * them count, the others are not read: an event may be large, and 250 of them may stand in its way.
 */
async function judgeHolders(
  store: SlotStore,
  own: Pick<EventRecord, 'fleet' | 'eventId' | 'epoch'>,
  stored: Holder[],
  wish: SlotRequest,
  now: number,
  pause: () => Promise<void>,
): Promise<{ holders: Holder[]; ended: Holder[]; behind: string[] }> {
  let holders = stored
  const ended: Holder[] = []
  const behind: string[] = []
  const counting: Holder[] = []
  for (const holder of listRivals(stored, own, wish, now)) {
    if (behind.length >= maxBehind && areEnough(counting, wish)) break
    await pause()
    const { standing, grown, vms } = await judgeOne(store, own.fleet, holder, now)
    if (standing === 'gone') holders = holders.filter((one) => one !== holder)
    if (standing === 'ended') ended.push(holder)
    if (standing !== 'counts') continue
    if (grown !== holder) holders = holders.map((one) => (one === holder ? grown : one))
    counting.push(grown)
    if (findShared(wish.groups, holder) >= 0) behind.push(...vms)
  }
  return { holders, ended, behind }
}

/** `damaged`: nobody knows whether its event is over, so its slot stays taken. */
async function judgeOne(
  store: SlotStore,
  fleet: string,
  holder: Holder,
  now: number,
): Promise<{ standing: ReturnType<typeof judgeHolder> | 'damaged'; grown: Holder; vms: string[] }> {
  const record = await readWhole(store, { fleet, eventId: holder.eventId })
  if (record === 'damaged') return { standing: record, grown: holder, vms: [] }
  const standing = judgeHolder(holder, record, now)
  if (record === undefined) return { standing, grown: holder, vms: [] }
  return { standing, grown: asGrown(holder, record), vms: record.facts.resources }
}
