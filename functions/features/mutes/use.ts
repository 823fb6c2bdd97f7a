// Makes, lists and ends mutes. When one ends early, open events that it hid are looked at again.
import type { EventRecord } from '../../core/event/event.ts'
import {
  type Access,
  describeAccess,
  listFleets,
  seesFleet,
  toDecider,
} from '../../core/rules/access.ts'
import { commitEvent } from '../../use-cases/commit-event.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { randomHex } from '../../use-cases/tokens.ts'
import { loadMutes, mutesRow } from './load.ts'
import { type Mute, type MuteWish, maxMutes, maxMutesOfFleet } from './rule.ts'

const idBytes = 6
/** More open events hear of the end with their next step. */
const maxEvents = 1_000

type Added =
  | { outcome: 'added'; mute: Mute }
  | { outcome: 'fleet_unknown'; fleet: string }
  | { outcome: 'no_room'; most: number }

export async function addMute(relay: Relay, access: Access, wish: MuteWish): Promise<Added> {
  const fleets = listFleets(access, Object.keys(relay.config.fleets))
  if (!fleets.includes(wish.fleet)) return { outcome: 'fleet_unknown', fleet: wish.fleet }
  const mute = { id: randomHex(idBytes), ...wish, createdAt: relay.now(), by: toDecider(access) }
  const isAdded = await change(relay, (all) => {
    const own = all.filter(({ fleet }) => fleet === wish.fleet)
    return all.length < maxMutes && own.length < maxMutesOfFleet ? [...all, mute] : undefined
  })
  if (!isAdded) return { outcome: 'no_room', most: maxMutesOfFleet }
  const { id, fleet } = mute
  relay.log.info('mute_added', {
    id,
    fleet,
    by: describeAccess(access),
    until: new Date(mute.until).toISOString(),
  })
  return { outcome: 'added', mute }
}

/** The mutes that count now or later. The next one to end comes first. */
export async function mutesFor(relay: Relay, access: Access): Promise<Mute[]> {
  const { mutes } = await loadMutes(relay.store)
  const seen = mutes.filter(({ fleet, until }) => until > relay.now() && seesFleet(access, fleet))
  return seen.sort((one, other) => one.until - other.until)
}

export async function endMute(
  relay: Relay,
  access: Access,
  id: string,
): Promise<'ended' | 'unknown'> {
  const mute = (await mutesFor(relay, access)).find((one) => one.id === id)
  if (mute === undefined) return 'unknown'
  await change(relay, (all) => all.filter((one) => one.id !== id))
  relay.log.info('mute_ended', { id, fleet: mute.fleet, by: describeAccess(access) })
  const isMuted = ({ muted }: EventRecord) => muted?.id === id
  for (const { fleet, eventId } of await relay.store.listOpen([mute.fleet], maxEvents, isMuted)) {
    await commitEvent(
      relay,
      { fleet, eventId },
      {
        decide: (record) => {
          if (record?.muted?.id !== id) return { record, moments: [], reason: 'not_muted' }
          const { muted: _, ...heard } = record
          return { record: heard, moments: [], reason: 'unmuted' }
        },
      },
    )
  }
  return 'ended'
}

/** False if `make` finds no room. Those that are over are left out. */
async function change(relay: Relay, make: (all: Mute[]) => Mute[] | undefined): Promise<boolean> {
  const { after } = await mutesRow.edit(relay.store, undefined, (before) => {
    const all = make((before?.all ?? []).filter(({ until }) => until > relay.now()))
    return all && { all }
  })
  return after !== undefined
}
