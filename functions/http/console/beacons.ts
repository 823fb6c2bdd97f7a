// `/console/beacons`: the beacons of one fleet, by name and state, and the expected ones that are
// missing. Those come from the row that the relay's own check keeps, so that nothing is counted here.
import type { Context } from 'hono'
import * as z from 'zod'
import { shownState } from '../../core/event/beacon-state.ts'
import { utc } from '../../core/event/time.ts'
import { unsupported } from '../../core/rules/beacon-version.ts'
import { isBeaconless } from '../../core/rules/config.ts'
import { beaconsBody, type ShownBeacon } from '../../pages/console/beacons.ts'
import { listChoices } from '../../schema/checks.ts'
import type { ListedBeacon } from '../../store/store.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { beaconStates } from '../api/beacons.ts'
import { readQuery } from '../query.ts'
import { type ReadAbsent, readAbsentBy } from './absent.ts'
import { answerPage, buildBase, wrongAddress } from './answer.ts'
import type { Visitor } from './visitor.ts'

const refreshSeconds = 30
const pageSize = 50
const text = z.string().max(400).optional()
const beaconsQuery = z.strictObject({
  fleet: text,
  q: text,
  state: z.union([z.literal(''), listChoices(beaconStates)]).optional(),
  after: text,
})

export async function showBeacons(
  relay: Relay,
  readers: readonly ReadAbsent[],
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  const read = readQuery(c, beaconsQuery)
  if ('refusal' in read) return wrongAddress(relay, c, visitor, read.refusal)
  const { q = '', state = '', after } = read.query
  const wanted = read.query.fleet || visitor.fleets[0]
  const fleet = visitor.fleets.find((one) => one === wanted)
  if (fleet === undefined) {
    const why = `fleet: write one of ${visitor.fleets.map((one) => `"${one}"`).join(', ')}`
    return wrongAddress(relay, c, visitor, why)
  }
  const now = relay.now()
  const others = visitor.fleets.filter((one) => one !== fleet)
  const [found, missing, silentElsewhere] = await Promise.all([
    relay.store.findBeacons({
      fleet,
      now,
      limit: pageSize,
      ...(q.trim() !== '' && { prefix: q.trim() }),
      ...(state !== '' && { state }),
      ...(after && { after }),
    }),
    listMissing(relay, readers, fleet),
    countSilent(relay, readers, others),
  ])
  const body = beaconsBody(
    {
      base: buildBase(relay),
      fleets: visitor.fleets,
      fleet,
      isBeaconless: isBeaconless(relay.config.fleets[fleet]!),
      q: q.trim(),
      state,
      beacons: found.beacons.map((one) => shown(one, now)),
      ...(missing && { missing }),
      silentElsewhere,
      ...(after && { after }),
      ...(found.next === undefined ? {} : { next: found.next }),
    },
    now,
  )
  return answerPage(relay, c, visitor, { title: 'Beacons', tab: 'beacons', body, refreshSeconds })
}

/** The missing VMs that the relay's check found last. */
async function listMissing(relay: Relay, readers: readonly ReadAbsent[], fleet: string) {
  if (relay.config.fleets[fleet]?.expectedBeacons === undefined) return undefined
  const wants = { silent: false, missing: true }
  const { missing: names, expected } = await readAbsentBy(readers, relay, fleet, wants)
  if (names.length === 0) return undefined
  return { count: names.length, names, ...(expected === undefined ? {} : { of: expected }) }
}

/** What the relay's check noted last. Leaves out fleets without any. */
async function countSilent(relay: Relay, readers: readonly ReadAbsent[], fleets: string[]) {
  const wants = { silent: true, missing: false }
  const counted = await Promise.all(
    fleets.map(async (fleet) => {
      const { silent } = await readAbsentBy(readers, relay, fleet, wants)
      return { fleet, count: silent.length }
    }),
  )
  return counted.filter(({ count }) => count > 0)
}

function shown(one: ListedBeacon, now: number): ShownBeacon {
  const { beacon, vm, resourceGroup, scaleSet, version, heardAt, paceMs, seesEvents } = one
  const reason = unsupported(version)
  const why = describeWhy(one)
  return {
    beacon,
    vm,
    resourceGroup,
    scaleSet,
    heardAt,
    paceMs,
    seesEvents,
    hooks: one.hooks ?? [],
    state: shownState(one, now),
    version,
    ...(reason === undefined ? {} : { unsupported: reason }),
    ...(one.oldKey && { oldKey: one.oldKey }),
    ...(why === undefined ? {} : { why }),
  }
}

function describeWhy({ left, goodbye, explainedBy }: ListedBeacon): string | undefined {
  if (left !== undefined) return `${left.why}, ${utc(left.at)}`
  if (goodbye !== undefined) return `goodbye: ${goodbye.reason}, ${utc(goodbye.at)}`
  return explainedBy === undefined ? undefined : 'an event explains it'
}
