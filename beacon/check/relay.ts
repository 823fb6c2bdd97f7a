// What the check finds about the relay: whether it answers, its certificate, the credential, the
// clock, and what the relay knows of this VM.
import { type CheckRequest, checkAnswerSchema, checkPath } from '../../shared/check.ts'
import { cut } from '../../shared/document.ts'
import { parseJson } from '../../shared/json.ts'
import type { Vm } from '../../shared/report.ts'
import { signatureToleranceMs } from '../../shared/signature.ts'
import type { Failed } from '../imds.ts'
import { type Posted, problemIn, reasonIn } from '../relay-client.ts'
import { type CheckParts, type Finding, fix, ok, skip } from './finding.ts'

export async function checkRelay(
  { client, clock, settings }: Pick<CheckParts, 'client' | 'clock' | 'settings'>,
  identity: { kind: 'vm'; vm: Vm } | Failed,
  signal: AbortSignal,
): Promise<Finding[]> {
  const vm = identity.kind === 'vm' ? identity.vm : null
  const request: CheckRequest = { version: 1, vm }
  const posted = await client.post(checkPath, () => JSON.stringify(request), signal)
  return relayFindings(posted, settings.relayUrl, clock.now())
}

/** `now` is when the answer arrived, by this VM's clock. */
export function relayFindings(posted: Posted, url: string, now: number): Finding[] {
  if (posted.kind === 'unready') {
    return [
      skip('relay', 'not checked: there is no token to send'),
      fix('credential', posted.reason),
    ]
  }
  const unknown = skip('credential', 'not checked: the relay did not receive it')
  if (posted.kind === 'unanswered') {
    const remedy = certificateRemedy(posted.reason)
    if (remedy === undefined) return [fix('relay', unreachable(url, posted.reason)), unknown]
    const reached = ok('relay', `${url} can be reached`)
    return [reached, fix('certificate', `${posted.reason}; ${remedy}`), unknown]
  }
  const { status, text } = posted
  const reached = [
    ok('relay', `${url} answers`),
    ...(url.startsWith('https:') ? [ok('certificate', 'it is valid')] : []),
  ]
  const answer = status === 200 ? checkAnswerSchema.safeParse(parseJson(text)).data : undefined
  if (answer !== undefined) {
    const accepted = ok('credential', `the relay accepts it for the fleet "${answer.fleet}"`)
    return [...reached, accepted, clockFinding(answer.time - now), ...heardFindings(answer)]
  }
  const problem = problemIn(text)
  if (status === 401 && problem !== undefined) {
    const clock = problem.time === undefined ? [] : [clockFinding(problem.time - now)]
    return [...reached, fix('credential', reasonIn(posted)), ...clock]
  }
  if (status === 404 && problem?.code === 'not_found') {
    const remedy = 'update the relay, which is older than this beacon'
    return [
      ...reached.slice(1),
      fix('relay', `${url} does not support this check; ${remedy}`),
      unknown,
    ]
  }
  const said =
    status === 200 ? `the answer does not come from a relay: ${cut(text, 60)}` : reasonIn(posted)
  return [fix('relay', unreachable(url, said)), unknown]
}

function unreachable(url: string, reason: string): string {
  return `${url}: ${reason}; check FOGHORN_RELAY_URL, HTTPS_PROXY, NO_PROXY and firewalls`
}

/** For the reason of a failed TLS handshake, which begins with the code of the error. */
function certificateRemedy(reason: string): string | undefined {
  const code = /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)\w*/.exec(
    reason,
  )?.[0]
  if (code === undefined) return undefined
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return "renew the relay's certificate, or correct this VM's clock"
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return 'set FOGHORN_RELAY_URL to a host name that the certificate contains'
  }
  return 'if your own CA signed it, set NODE_EXTRA_CA_CERTS to the file with its certificate'
}

/** `offsetMs` is the relay's clock minus this VM's. */
function clockFinding(offsetMs: number): Finding {
  const direction = offsetMs > 0 ? 'behind' : 'ahead of'
  const text = `${describeMs(Math.abs(offsetMs))} ${direction} the relay's`
  if (Math.abs(offsetMs) <= signatureToleranceMs) return ok('clock', text)
  return fix('clock', `${text}; switch on this VM's time synchronization`)
}

function heardFindings({
  beacon,
  heardAt,
  time,
}: {
  beacon?: string | undefined
  heardAt?: number | undefined
  time: number
}): Finding[] {
  if (beacon === undefined) return []
  if (heardAt === undefined) {
    return [ok('heard', `the relay has not heard the beacon "${beacon}" yet; start the service`)]
  }
  const ago = describeMs(Math.max(0, time - heardAt))
  return [ok('heard', `the relay heard the beacon "${beacon}" ${ago} ago`)]
}

function describeMs(ms: number): string {
  if (ms < 120_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`
  return ms < 2 * 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`
}
