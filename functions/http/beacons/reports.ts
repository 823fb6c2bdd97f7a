// What beacons ask: `POST /v1/reports` reads a report and calls the use case, `POST /v1/beacons/check` is
// for a person. A host may take reports from its own server, past the routes: most requests are reports.
import {
  type CheckAnswer,
  checkAnswerSchema,
  checkPath,
  checkSchema,
  maxCheckBytes,
} from '../../../shared/check.ts'
import {
  type Answer,
  answerSchema,
  malformedCode,
  maxReportBytes,
  type Report,
  reportPath,
  reportSchema,
  retiredCode,
} from '../../../shared/report.ts'
import { cut } from '../../../shared/text.ts'
import { shownState } from '../../core/event/beacon-state.ts'
import { unsupported } from '../../core/rules/beacon-version.ts'
import { atOnce, type InTurn } from '../../use-cases/join-events.ts'
import { receiveAndHold } from '../../use-cases/receive-report.ts'
import type { Relay } from '../../use-cases/relay.ts'
import type { Door } from '../door.ts'
import { type Refusal, readIncoming, refuse } from '../problem.ts'
import { type Route, route, type Shared } from '../route.ts'
import { nameBeacon } from './authenticate.ts'
import { type Incoming, type Refused, readRequest, usualBytes } from './request.ts'

const checkCode = 'check_malformed'

export type TakeReport = (incoming: Incoming) => Promise<{ answer: Answer } | Refused>

type Needed = Pick<Shared, 'relay' | 'refusals' | 'reportDoor'>

export function createTakeReport(shared: Needed): TakeReport {
  const noteVersion = createVersionNotes(shared.relay)
  const fewAtOnce = createFewAtOnce()
  return (incoming) => takeReport({ ...shared, noteVersion, fewAtOnce }, incoming)
}

const postReport = route({
  method: 'post',
  path: reportPath,
  name: 'postReport',
  summary: 'A beacon reports what its VM sees, and receives directives.',
  about: 'Changes since the last accepted report are included. Repeating a report changes nothing.',
  group: 'Beacons',
  caller: 'beacon',
  body: { schema: reportSchema, maxBytes: maxReportBytes },
  answers: { 200: { about: 'Stored, or seen before.', schema: answerSchema } },
  problems: [409],
  handler(shared) {
    const take = createTakeReport(shared)
    return async (c) => {
      const outcome = await take(await readIncoming(c))
      return 'refusal' in outcome ? refuse(c, outcome.refusal) : c.json(outcome.answer)
    }
  },
})

type NoteVersion = (fleet: string, report: Report) => void

/** Beacons choose their version. Beyond this, a fleet has no more warnings. */
const maxVersionsOfFleet = 50

/** Warns once about each version that the relay does not support, in each fleet. */
function createVersionNotes({ log }: Relay): NoteVersion {
  const noted = new Map<string, Set<string>>()
  return (fleet, { vm, beacon }) => {
    const known = noted.get(fleet) ?? new Set()
    if (known.has(beacon.version) || known.size >= maxVersionsOfFleet) return
    noted.set(fleet, known.add(beacon.version))
    const reason = unsupported(beacon.version)
    if (reason === undefined) return
    const version = cut(beacon.version, 64)
    log.warn('beacon_unsupported', { fleet, version, reason, vm: vm.name })
  }
}

/** Reports of a fleet that may wait at a time, by size. Their texts wait in memory, of which a relay on Node has 512 MB. */
const maxWaiting = { large: 1_000, huge: 100 }
const hugeBytes = 64 * 1024

function takeTurns(door: Door, fleet: string, size: keyof typeof maxWaiting): InTurn {
  return (work) => door.pass({ fleet, size }, work, maxWaiting[size])
}

interface Taking extends Needed {
  noteVersion: NoteVersion
  fewAtOnce: ReturnType<typeof createFewAtOnce>
}

async function takeReport(
  { relay, refusals, reportDoor, noteVersion, fewAtOnce }: Taking,
  incoming: Incoming,
): ReturnType<TakeReport> {
  const { length } = incoming.text
  const atDoor = (fleet: string) =>
    takeTurns(reportDoor, fleet, length > hugeBytes ? 'huge' : 'large')
  const turnOf = (fleet: string) => (length <= usualBytes ? atOnce : atDoor(fleet))
  const request = await readRequest(
    relay,
    refusals,
    incoming,
    { schema: reportSchema, code: malformedCode },
    turnOf,
  )
  if ('refusal' in request) return request
  const { fleet, sender, body, refuse } = request
  const named = nameBeacon(sender, body)
  if ('refusal' in named) return refuse(named.refusal)
  noteVersion(fleet, body)
  const hasOldKey = sender.by === 'key' && sender.isOld === true
  const inTurn = length <= usualBytes ? fewAtOnce(fleet, atDoor(fleet)) : atDoor(fleet)
  const received = await receiveAndHold(relay, fleet, named.beacon, body, hasOldKey, inTurn)
  if (received.outcome === 'answered') return { answer: received.answer }
  if (received.outcome === 'full') {
    return refuse({ status: 409, code: 'too_many_beacons', detail: received.reason })
  }
  return refuse(outcomes[received.outcome])
}

/** A VM seldom sees more. */
const eventsAtOnce = 3
/** Events that small reports of one fleet join at a time. Each may name a hundred VMs. */
const joinsAtOnce = 16

/**
 * A small report of many events reads all of them: the first few wait for nobody, the others take turns. So do the
 * first few, if the fleet has many under way.
 */
function createFewAtOnce() {
  const underWay = new Map<string, number>()
  return (fleet: string, others: InTurn): InTurn => {
    let left = eventsAtOnce
    return async (work) => {
      left -= 1
      const count = underWay.get(fleet) ?? 0
      if (left < 0 || count >= joinsAtOnce) return others(work)
      underWay.set(fleet, count + 1)
      try {
        return await atOnce(work)
      } finally {
        const after = underWay.get(fleet)! - 1
        if (after === 0) underWay.delete(fleet)
        else underWay.set(fleet, after)
      }
    }
  }
}

const outcomes: Record<'retired' | 'busy', Refusal> = {
  retired: {
    status: 409,
    code: retiredCode,
    detail: 'a newer boot id of this VM has reported; take a new boot id',
  },
  busy: {
    status: 503,
    code: 'busy',
    detail: 'too many reports changed one event at once; report again',
  },
}

/**
 * A check stores nothing and retires no boot id, so it disturbs no beacon. Only a person waits for it, so it takes turns
 * with large reports.
 */
const postCheck = route({
  method: 'post',
  path: checkPath,
  name: 'checkBeacon',
  summary: 'Authenticates a beacon as a report does, and stores nothing.',
  group: 'Beacons',
  caller: 'beacon',
  body: { schema: checkSchema, maxBytes: maxCheckBytes },
  answers: { 200: { about: 'What the relay knows of the VM.', schema: checkAnswerSchema } },
  handler:
    ({ relay, refusals, reportDoor }) =>
    async (c) => {
      const incoming = await readIncoming(c)
      const check = { schema: checkSchema, code: checkCode }
      const turnOf = (fleet: string) => takeTurns(reportDoor, fleet, 'large')
      const request = await readRequest(relay, refusals, incoming, check, turnOf)
      if ('refusal' in request) return refuse(c, request.refusal)
      const { fleet, sender } = request
      const { vm } = request.body
      const relayAheadMs = relay.clockWatch.wrongMs(fleet)
      const ahead = relayAheadMs === undefined ? {} : { relayAheadMs }
      const answer: CheckAnswer = { fleet, time: relay.now(), ...ahead }
      if (vm === null) return c.json(answer)
      const named = nameBeacon(sender, { vm })
      if ('refusal' in named) return refuse(c, request.refuse(named.refusal).refusal)
      const { beacon } = named
      const known = await relay.store.readBeacon(fleet, beacon)
      if (known === undefined) return c.json({ ...answer, beacon })
      const state = shownState(known, relay.now())
      return c.json({ ...answer, beacon, heardAt: known.heardAt, state })
    },
})

export const reportRoutes: Route[] = [postReport, postCheck]
