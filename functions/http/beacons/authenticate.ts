// Who sends a report: a holder of the fleet's key, who may speak for any VM of the fleet, or a VM that
// its managed identity's token proves, which speaks for itself alone. A fleet that takes both moves from
// one to the other VM by VM.
import {
  clockCode,
  type Report,
  tokenCode,
  unavailableCode,
  type Vm,
} from '../../../shared/report.ts'
import { signatureToleranceMs, type Verdict, verify } from '../../../shared/signature.ts'
import type { Entra, Fleet } from '../../core/rules/config.ts'
import { type Claims, judgeClaims, proves } from '../../identity/identity.ts'
import type { Relay } from '../../use-cases/relay.ts'
import type { Refusal } from '../problem.ts'

type SignedIn = { by: 'key' } | { by: 'token'; claims: Claims; entra: Entra }

type Header = (name: string) => string | undefined

/** Checks what the request offers, before its body is read as anything but bytes. */
export async function signIn(
  relay: Pick<Relay, 'identity' | 'hmac' | 'now'>,
  fleet: Fleet,
  header: Header,
  body: string,
): Promise<SignedIn | { refusal: Refusal }> {
  const { key, entra } = fleet
  const token = tokenIn(header('authorization'))
  const isSigned = Boolean(header('webhook-signature'))
  // a proxy may add an Authorization of its own to a signed report, so the signature goes first
  if (entra !== undefined && token !== undefined && !(isSigned && key !== undefined)) {
    return signInByToken(relay, entra, token)
  }
  if (key === undefined) return { refusal: keyless(isSigned) }
  const now = relay.now()
  const verdict = await verify(key, header, now, body, relay.hmac)
  if (verdict === 'valid') return { by: 'key' }
  const rest = isSigned ? '' : otherWay(fleet, token)
  return { refusal: unsigned(verdict, rest, now) }
}

async function signInByToken(
  relay: Pick<Relay, 'identity' | 'now'>,
  entra: Entra,
  token: string,
): Promise<SignedIn | { refusal: Refusal }> {
  const verified = await relay.identity.verify(token, entra)
  if (verified.outcome === 'invalid') return { refusal: tokenInvalid(verified.reason) }
  if (verified.outcome === 'unavailable') {
    const detail = `${verified.reason}; send a report again`
    return { refusal: { status: 503, code: unavailableCode, detail } }
  }
  const judged = judgeClaims(verified.claims, entra, relay.now())
  if (judged.outcome === 'refused') return { refusal: tokenInvalid(judged.reason) }
  return { by: 'token', claims: judged.claims, entra }
}

/**
 * What the relay knows the beacon by. With the fleet's key it is what the report says: the key stands for
 * every VM of the fleet. With a token it is what the token proves and never the vmId, which nothing
 * proves: a VM could else retire the boot of another one, and answer for its directives. So a VM that goes
 * over from the key to a token is a new beacon, and the old one falls silent like any that was switched
 * off; to join the two would take the vmId's word. While both are heard, they are two observers of the
 * same VM, and each event is told once all the same.
 */
export function nameBeacon(
  signedIn: SignedIn,
  { vm }: Report,
): { beacon: string } | { refusal: Refusal } {
  if (signedIn.by === 'key') return { beacon: saidKey(vm) }
  const proven = proves(signedIn.claims, signedIn.entra, vm)
  if (proven.outcome === 'refused') return { refusal: tokenInvalid(proven.reason) }
  return { beacon: proven.beacon }
}

/** vmId names a VM for good; without one, the resource group and name do. */
function saidKey(vm: Vm): string {
  return (vm.vmId === '' ? `${vm.resourceGroup}/${vm.name}` : vm.vmId).toLowerCase()
}

/** Undefined where the header holds something else. */
function tokenIn(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
}

function tokenInvalid(reason: string): Refusal {
  return { status: 401, code: tokenCode, detail: `the token is refused: ${reason}` }
}

const verdicts: Record<Exclude<Verdict, 'valid'>, string> = {
  missing_header: 'webhook-id, webhook-timestamp or webhook-signature is missing',
  malformed_timestamp: 'webhook-timestamp is not a number of Unix seconds',
  outside_tolerance: `webhook-timestamp is more than ${signatureToleranceMs / 60_000} min off`,
  no_match: 'webhook-signature was not made with a key of this fleet; see FOGHORN_FLEET_KEY',
}

function unsigned(verdict: Exclude<Verdict, 'valid'>, rest: string, time: number): Refusal {
  const code = verdict === 'outside_tolerance' ? clockCode : 'signature_invalid'
  return { status: 401, code, detail: verdicts[verdict] + rest, time }
}

const wantsToken =
  "Authorization: Bearer with a token of the VM's managed identity; see FOGHORN_AUDIENCE"

/** What besides a signature the request might have brought. */
function otherWay({ entra }: Fleet, token: string | undefined): string {
  if (entra !== undefined) return `, and so is ${wantsToken}. This fleet takes either`
  return token === undefined ? '' : '; this fleet takes no tokens, as it has no "entra"'
}

function keyless(isSigned: boolean): Refusal {
  const detail = isSigned
    ? `this fleet takes no signatures, as it has no "key"; send ${wantsToken}`
    : `there is no ${wantsToken}`
  return { status: 401, code: 'signature_invalid', detail }
}
