// Authenticates the sender of a report. A holder of the fleet's key may report for every VM of the
// fleet. A VM that proves itself by a token of its managed identity may report for itself only.
// A fleet may accept both, so that its VMs can switch one by one.
import {
  clockCode,
  malformedCode,
  tokenCode,
  unavailableCode,
  type Vm,
} from '../../../shared/report.ts'
import { type SignatureCheck, signatureToleranceMs, verify } from '../../../shared/signature.ts'
import { isAzure } from '../../core/event/sight.ts'
import { type Entra, type Fleet, isBeaconless } from '../../core/rules/config.ts'
import { type Claims, judgeClaims, proves, readIssuer } from '../../identity/identity.ts'
import type { Relay } from '../../use-cases/relay.ts'
import type { Refusal } from '../problem.ts'

/** `isOld`: by a key that is about to be replaced. The first key of a fleet is the new one. */
export type Sender = { by: 'key'; isOld?: true } | { by: 'token'; claims: Claims; entra: Entra }

type Header = (name: string) => string | undefined

/** Checks the credential before anything parses the body. */
export async function authenticate(
  relay: Pick<Relay, 'credentials' | 'now'>,
  fleet: Fleet,
  header: Header,
  body: string,
): Promise<Sender | { refusal: Refusal }> {
  const { key, entra } = fleet
  const token = tokenIn(header('authorization'))
  const isSigned = Boolean(header('webhook-signature'))
  // A proxy may add its own Authorization to a signed report, so the signature has priority.
  if (entra !== undefined && token !== undefined && !(isSigned && key !== undefined)) {
    return authenticateToken(relay, entra, token)
  }
  if (isBeaconless(fleet)) return { refusal: beaconless }
  if (key === undefined) return { refusal: keyless(isSigned) }
  const now = relay.now()
  const check = await verify(key, header, now, body, relay.credentials.hmac)
  if (check === 'valid') {
    const isNew =
      key.length === 1 ||
      (await verify([key[0]!], header, now, body, relay.credentials.hmac)) === check
    return { by: 'key', ...(!isNew && { isOld: true as const }) }
  }
  const rest = isSigned ? '' : otherWay(fleet, token)
  return { refusal: unsigned(check, rest, now) }
}

async function authenticateToken(
  relay: Pick<Relay, 'credentials' | 'now'>,
  entra: Entra,
  token: string,
): Promise<Sender | { refusal: Refusal }> {
  const verified = await relay.credentials.identity.verify(token, readIssuer(entra))
  if (verified.outcome === 'invalid') return { refusal: tokenInvalid(verified.reason) }
  if (verified.outcome === 'unavailable') {
    const detail = `${verified.reason}; report again`
    return { refusal: { status: 503, code: unavailableCode, detail } }
  }
  const judged = judgeClaims(verified.claims, entra, relay.now())
  if (judged.outcome === 'refused') return { refusal: tokenInvalid(judged.reason) }
  return { by: 'token', claims: judged.claims, entra }
}

/**
 * The name under which the relay stores the beacon. With the fleet's key the report gives it. With
 * a token the token gives it, never the vmId: a VM could claim another's vmId, retire that VM's
 * boot id and answer its directives. So a VM that switches from the key to a token becomes a new
 * beacon, and the old one falls silent. If both report, they are two beacons of one VM.
 */
export function nameBeacon(
  sender: Sender,
  { vm }: { vm: Vm },
): { beacon: string } | { refusal: Refusal } {
  if (sender.by === 'key') {
    const beacon = claimedName(vm)
    return isAzure({ beacon }) ? { refusal: ofAzure(beacon) } : { beacon }
  }
  const proven = proves(sender.claims, sender.entra, vm)
  if (proven.outcome === 'refused') return { refusal: tokenInvalid(proven.reason) }
  return { beacon: proven.beacon }
}

function ofAzure(beacon: string): Refusal {
  const detail = `"vm.vmId" is "${beacon}", which is no id of a VM; send the vmId of IMDS`
  return { status: 400, code: malformedCode, detail }
}

/** A vmId never changes. Without one, the resource group and name have to do. */
function claimedName(vm: Vm): string {
  return (vm.vmId === '' ? `${vm.resourceGroup}/${vm.name}` : vm.vmId).toLowerCase()
}

/** Undefined if the header is not a bearer token. */
function tokenIn(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
}

function tokenInvalid(reason: string): Refusal {
  return { status: 401, code: tokenCode, detail: `the relay rejects the token: ${reason}` }
}

const checks: Record<Exclude<SignatureCheck, 'valid'>, string> = {
  missing_header: 'webhook-id, webhook-timestamp or webhook-signature is missing',
  malformed_timestamp: 'webhook-timestamp is not a number; write Unix seconds',
  outside_tolerance:
    `webhook-timestamp is more than ${signatureToleranceMs / 60_000} min off; ` +
    `"time" is the relay's clock`,
  no_match: 'webhook-signature was not made with a key of this fleet; see FOGHORN_FLEET_KEY',
}

function unsigned(check: Exclude<SignatureCheck, 'valid'>, rest: string, time: number): Refusal {
  const code = check === 'outside_tolerance' ? clockCode : 'signature_invalid'
  return { status: 401, code, detail: checks[check] + rest, time }
}

const sendToken =
  'send "Authorization: Bearer" with a token of the VM\'s managed identity; see FOGHORN_AUDIENCE'

/** What an unsigned request could send besides a signature. */
function otherWay({ entra }: Fleet, token: string | undefined): string {
  if (entra !== undefined) return `; sign the report, or ${sendToken}`
  return token === undefined ? '' : '; this fleet accepts no tokens because it has no "entra"'
}

const beaconless: Refusal = {
  status: 401,
  code: 'signature_invalid',
  detail: 'this fleet takes no reports; give it "key" or "entra" in the configuration of the relay',
}

function keyless(isSigned: boolean): Refusal {
  const detail = isSigned
    ? `this fleet accepts no signatures because it has no "key"; ${sendToken}`
    : `the report has no token; ${sendToken}`
  return { status: 401, code: 'signature_invalid', detail }
}
