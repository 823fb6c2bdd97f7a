// Reads a request of a beacon: authenticates the sender, then checks the body by its schema. A
// refusal is logged and counted.
import * as z from 'zod'
import { describeIssues } from '../../../shared/errors.ts'
import { parseJson } from '../../../shared/json.ts'
import { shownName } from '../../../shared/presentable.ts'
import { fleetHeader } from '../../../shared/report.ts'
import { cut } from '../../../shared/text.ts'
import type { FrequentLog } from '../../use-cases/frequent-log.ts'
import { atOnce, type InTurn } from '../../use-cases/join-events.ts'
import type { Relay } from '../../use-cases/relay.ts'
import type { Refusal } from '../problem.ts'
import { authenticate, type Sender } from './authenticate.ts'

/** A request as any server gives it. */
export interface Incoming {
  /** `name` in lower case. */
  header(name: string): string | undefined
  text: string
}

export interface Refused {
  refusal: Refusal
}

interface BeaconRequest<Body> {
  fleet: string
  sender: Sender
  body: Body
  /** Refuses the request after all. */
  refuse(refusal: Refusal): Refused
}

interface SignedRequest {
  fleet: string
  sender: Sender
  text: string
}

/** Authenticates the sender. */
export async function readSigned(
  relay: Pick<Relay, 'config' | 'credentials' | 'now'>,
  refusals: FrequentLog,
  { header, text }: Incoming,
): Promise<SignedRequest | Refused> {
  const name = header(fleetHeader)
  const fleet = name === undefined ? undefined : own(relay.config.fleets, name)
  if (name === undefined || fleet === undefined) return refuseRequest(refusals, unknownFleet(name))
  const sender = await authenticate(relay, fleet, header, text)
  // The sender is unknown, so the body is neither parsed nor logged.
  const claims = { fleet: name }
  if ('refusal' in sender) return refuseRequest(refusals, sender.refusal, claims)
  return { fleet: name, sender, text }
}

/** A report of an event or two is not larger. */
export const usualBytes = 8 * 1024

/** `code`: of the refusal of a wrong body. */
interface Expected<Body> {
  schema: Body
  code: string
}

/** Authenticates the sender, then reads the body in its turn. */
export async function readRequest<Body extends z.core.$ZodType>(
  relay: Relay,
  refusals: FrequentLog,
  incoming: Incoming,
  expected: Expected<Body>,
  turnOf: (fleet: string) => InTurn = () => atOnce,
): Promise<BeaconRequest<z.output<Body>> | Refused> {
  const signed = await readSigned(relay, refusals, incoming)
  if ('refusal' in signed) return signed
  const read = await turnOf(signed.fleet)(async () => readBody(refusals, signed, expected))
  if (read !== 'full') return read
  return refuseRequest(refusals, tooMany, { fleet: signed.fleet })
}

const tooMany: Refusal = {
  status: 503,
  code: 'busy',
  detail: 'too many large requests of this fleet wait; send it again',
}

function readBody<Body extends z.core.$ZodType>(
  refusals: FrequentLog,
  { fleet: name, sender, text }: SignedRequest,
  { schema, code }: Expected<Body>,
): BeaconRequest<z.output<Body>> | Refused {
  const refuse = (refusal: Refusal, claims?: Claims) => refuseRequest(refusals, refusal, claims)
  const json = parseJson(text)
  // the request may wait for its turns, and what was parsed may take twenty times the memory of its text
  const claims = { fleet: name, vm: claimedVm(json) }
  const body = z.safeParse(schema, json)
  if (!body.success) {
    const detail =
      json === undefined ? 'the body is not JSON' : describeIssues(body.error, json).join('\n')
    return refuse({ status: 400, code, detail }, claims)
  }
  return { fleet: name, sender, body: body.data, refuse: (refusal) => refuse(refusal, claims) }
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
  vm?: string | undefined
}

function refuseRequest(
  refusals: FrequentLog,
  refusal: Refusal,
  { fleet, vm }: Claims = { fleet: '' },
): Refused {
  const { status, code, detail } = refusal
  const sender = { fleet, ...(vm !== undefined && { vm }) }
  refusals.note('report_refused', { status, code, detail, ...sender }, `${fleet} ${code}`)
  return { refusal }
}

const claimSchema = z.object({ vm: z.object({ name: z.string() }) })

/** The VM that an authenticated request names. Shown only if the text has the form of a name. */
function claimedVm(json: unknown): string | undefined {
  const claim = claimSchema.safeParse(json)
  return claim.success ? shownName(claim.data.vm.name) : undefined
}

function own<Value>(record: Record<string, Value>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined
}
