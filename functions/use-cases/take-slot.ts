// Takes the slot of an event, for a rule with `maxConcurrent`. Asking again changes nothing. A holder
// whose event is over does not count while it is over, so a crash leaves nothing behind.
import type { EventRecord } from '../core/event/event.ts'
import { slotToTake } from '../core/event/rule-approves.ts'
import {
  asGrown,
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
  return { wish: slotRequestId(wish), answer: await takeSlot(relay.store, before, wish, now) }
}

async function readSlots(store: SlotStore, fleet: string) {
  return (await slotRows.read(store, fleet)) ?? { version: 0, holders: [] }
}

export async function takeSlot(
  store: SlotStore,
  own: Pick<EventRecord, 'fleet' | 'eventId' | 'epoch'>,
  wish: SlotRequest,
  now: number,
): Promise<SlotAnswer> {
  const { fleet } = own
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { version, holders: stored } = await readSlots(store, fleet)
    const { holders, ended, behind } = await judgeHolders(store, own, stored, wish, now)
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

/** The holders by what is stored of their events now, and the VMs of those that count beside this event. */
async function judgeHolders(
  store: SlotStore,
  own: Pick<EventRecord, 'fleet' | 'eventId' | 'epoch'>,
  stored: Holder[],
  wish: SlotRequest,
  now: number,
): Promise<{ holders: Holder[]; ended: Holder[]; behind: string[] }> {
  let holders = stored
  const ended: Holder[] = []
  const behind: string[] = []
  for (const holder of listRivals(stored, own, wish, now)) {
    const record = await readWhole(store, { fleet: own.fleet, eventId: holder.eventId })
    // nobody knows whether it is over, so its slot stays taken
    if (record === 'damaged') continue
    const standing = judgeHolder(holder, record, now)
    if (record === undefined || standing === 'gone') {
      holders = holders.filter((one) => one !== holder)
    } else if (standing === 'ended') {
      ended.push(holder)
    } else {
      const grown = asGrown(holder, record)
      if (grown !== holder) holders = holders.map((one) => (one === holder ? grown : one))
      behind.push(...record.facts.resources)
    }
  }
  return { holders, ended, behind }
}
