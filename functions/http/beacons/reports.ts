// `POST /v1/reports`: reads the report of a beacon, and calls the use case.
import { type Context, Hono } from 'hono'
import { cut } from '../../../shared/document.ts'
import {
  maxReportBytes,
  type Report,
  reportPath,
  reportSchema,
  retiredCode,
} from '../../../shared/report.ts'
import { unsupported } from '../../core/rules/beacon-version.ts'
import { receiveAndHold } from '../../use-cases/hold-answer.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { limit, type Refusal } from '../problem.ts'
import type { Refusals } from '../refusals.ts'
import { nameBeacon } from './authenticate.ts'
import { readRequest } from './request.ts'

const malformedCode = 'report_malformed'

export function reportRoutes(relay: Relay, refusals: Refusals): Hono {
  const routes = new Hono()
  const noteVersion = createVersionNotes(relay)
  routes.post(reportPath, limit(maxReportBytes), (c) => postReport(relay, refusals, noteVersion, c))
  return routes
}

type NoteVersion = (fleet: string, report: Report) => void

/** Versions whose warning is remembered. Beyond this, a warning may be repeated. */
const maxVersions = 1_000

/** Warns once about each version that the relay does not support, in each fleet. */
function createVersionNotes({ log }: Relay): NoteVersion {
  const noted = new Set<string>()
  return (fleet, { vm, beacon }) => {
    const name = JSON.stringify([fleet, beacon.version])
    if (noted.has(name)) return
    if (noted.size >= maxVersions) noted.clear()
    noted.add(name)
    const reason = unsupported(beacon.version)
    if (reason === undefined) return
    const version = cut(beacon.version, 64)
    log.warn('beacon_unsupported', { fleet, version, reason, vm: vm.name })
  }
}

async function postReport(
  relay: Relay,
  refusals: Refusals,
  noteVersion: NoteVersion,
  c: Context,
): Promise<Response> {
  const request = await readRequest(relay, refusals, c, reportSchema, malformedCode)
  if (request instanceof Response) return request
  const { fleet, sender, body, refuse } = request
  const named = nameBeacon(sender, body)
  if ('refusal' in named) return refuse(named.refusal)
  noteVersion(fleet, body)
  const received = await receiveAndHold(relay, fleet, named.beacon, body)
  return received.outcome === 'answered'
    ? c.json(received.answer)
    : refuse(outcomes[received.outcome])
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
