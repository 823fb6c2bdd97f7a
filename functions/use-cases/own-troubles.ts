// Checks the relay itself now and then: its disk, and its channels.
import { messageOf } from '../../shared/errors.ts'
import { noFleet, type ProblemKind } from '../core/delivery/delivery.ts'
import { channelProblems, type Disk, diskProblem } from '../core/delivery/own-trouble.ts'
import type { Problem, ProblemChange } from '../core/delivery/problem.ts'
import { channelsInTrouble } from './channel-health.ts'
import { noteProblems, ownersOf } from './problems.ts'
import type { Relay } from './relay.ts'

/** Logs failures: the next check tries again. `disk`: absent if the host has none. */
export async function checkItself(relay: Relay, disk?: () => Promise<Disk>): Promise<void> {
  const { config } = relay
  const check = async (
    kind: ProblemKind,
    find: (known: Problem[], now: number) => Promise<ProblemChange>,
  ) => {
    try {
      await noteProblems(relay, noFleet, kind, (known) => find(known, relay.now()))
    } catch (error) {
      relay.log.error('own_check_failed', { kind, error: messageOf(error) })
    }
  }
  if (disk) {
    await check('disk_nearly_full', async (known, now) => diskProblem(await disk(), known, now))
  }
  await check('channels_in_trouble', async (known, now) => {
    const owners = ownersOf(config, noFleet)
    return channelProblems(await channelsInTrouble(relay), config.channels, owners, known, now)
  })
}
