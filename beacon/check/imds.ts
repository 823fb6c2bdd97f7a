// What the check finds about IMDS, and about the VM that IMDS describes.
import type { Vm } from '../../shared/report.ts'
import type { Failed, FailureClass } from '../imds.ts'
import { type CheckParts, type Finding, fix, ok, skip } from './finding.ts'

/** As often as a beacon polls. */
const pollMs = 1_000
/** Enough to fall back through all api-versions. */
const maxPolls = 50

/** Polls until an api-version works. IMDS takes this beside the polls of a running beacon. */
export async function checkImds(
  {
    imds,
    clock,
    settings,
  }: Pick<CheckParts, 'imds' | 'clock'> & { settings: Pick<CheckParts['settings'], 'imdsUrl'> },
  signal: AbortSignal,
): Promise<Finding[]> {
  for (let polls = 1; ; polls++) {
    const poll = await imds.poll(signal)
    if (poll.kind === 'document') {
      const { events, unreadable } = poll.document
      const odd = unreadable.count === 0 ? '' : `, ${unreadable.count} of them unreadable`
      const count = `${events.length + unreadable.count} events now${odd}`
      return [ok('imds', `${settings.imdsUrl} answers, api-version ${poll.apiVersion}, ${count}`)]
    }
    if (poll.class !== 'fallback' || polls === maxPolls) {
      return [fix('imds', `${poll.reason}; ${remedyFor(poll)}`)]
    }
    await clock.sleep(pollMs, signal)
  }
}

const later = 'check again in a minute'
const elsewhere = 'run this on an Azure VM, and correct FOGHORN_IMDS_URL if you set it'
const remedies: Record<FailureClass, string> = {
  fallback: later,
  updating: later,
  throttled: `programs on this VM ask IMDS too often; ${later}`,
  transient: later,
  absent: elsewhere,
}

function remedyFor(failed: Failed): string {
  if (failed.status !== undefined) return remedies[failed.class]
  return `${elsewhere}; on an Azure VM, allow this program to reach IMDS through firewalls`
}

export function describeVm(identity: { kind: 'vm'; vm: Vm } | Failed): Finding[] {
  if (identity.kind === 'failed') {
    return [skip('vm', `IMDS did not say which VM this is: ${identity.reason}`)]
  }
  const { name, resourceGroup, scaleSet } = identity.vm
  const group = resourceGroup === '' ? 'no resource group' : `resource group ${resourceGroup}`
  const set = scaleSet === '' ? 'no scale set' : `scale set ${scaleSet}`
  return [ok('vm', `${name}, ${group}, ${set}`)]
}
