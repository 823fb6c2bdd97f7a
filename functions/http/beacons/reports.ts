// `POST /v1/reports`: authenticates the sender, checks the body by its schema, calls the use case.

import { type Context, Hono } from 'hono'
import { z } from 'zod'
import { cut } from '../../../shared/document.ts'
import { describeIssues } from '../../../shared/errors.ts'
import { parseJson } from '../../../shared/json.ts'
import { shownName } from '../../../shared/presentable.ts'
import {
  fleetHeader,
  maxReportBytes,
  type Report,
  reportPath,
  reportSchema,
  retiredCode,
} from '../../../shared/report.ts'
import { unsupported } from '../../core/rules/beacon-version.ts'
import { receive } from '../../use-cases/receive-report.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { limit, problem, type Refusal } from '../problem.ts'
import type { Refusals } from '../refusals.ts'
import { authenticate, nameBeacon } from './authenticate.ts'

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
  const refuse = (refusal: Refusal, claims?: Claims) => refuseReport(refusals, c, refusal, claims)
  const name = c.req.header(fleetHeader)
  const fleet = name === undefined ? undefined : own(relay.config.fleets, name)
  if (name === undefined || fleet === undefined) return refuse(unknownFleet(name))
  const body = await c.req.text()
  const sender = await authenticate(relay, fleet, (header) => c.req.header(header), body)
  // The sender is unknown, so the body is neither parsed nor logged.
  if ('refusal' in sender) return refuse(sender.refusal, { fleet: name, json: undefined })
  const json = parseJson(body)
  const claims = { fleet: name, json }
  const report = reportSchema.safeParse(json)
  if (!report.success) {
    const detail =
      json === undefined ? 'the body is not JSON' : describeIssues(report.error, json).join('\n')
    return refuse({ status: 400, code: 'report_malformed', detail }, claims)
  }
  const named = nameBeacon(sender, report.data)
  if ('refusal' in named) return refuse(named.refusal, claims)
  noteVersion(name, report.data)
  const received = await receive(relay, name, named.beacon, report.data)
  if (received.outcome === 'answered') return c.json(received.answer)
  return refuse(outcomes[received.outcome], claims)
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

function unknownFleet(name: string | undefined): Refusal {
  const detail =
    name === undefined
      ? `the header ${fleetHeader} is missing; write the name of the fleet into it`
      : `the configuration has no fleet ${JSON.stringify(cut(name, 64))}; see FOGHORN_FLEET`
  return { status: 401, code: 'fleet_unknown', detail }
}

interface Claims {
  fleet: string
  json: unknown
}

function refuseReport(
  refusals: Refusals,
  c: Context,
  refusal: Refusal,
  { fleet, json }: Claims = { fleet: '', json: undefined },
): Response {
  const { status, code, detail, time } = refusal
  const vm = claimedVm(json)
  const sender = { fleet, ...(vm !== undefined && { vm }) }
  refusals.note('report_refused', { status, code, detail, ...sender }, `${fleet} ${code}`)
  return problem(c, status, code, detail, time)
}

const claimSchema = z.object({ vm: z.object({ name: z.string() }) })

/** The VM that an authenticated report names. Shown only if the text has the form of a name. */
function claimedVm(json: unknown): string | undefined {
  const claim = claimSchema.safeParse(json)
  return claim.success ? shownName(claim.data.vm.name) : undefined
}

function own<Value>(record: Record<string, Value>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined
}
