// Checks the relay itself now and then, and keeps the alerts about it right. A trouble is noted in
// the row of its alert, and the sweep sends what is due.
import { messageOf } from '../../shared/errors.ts'
import { alertId } from '../core/delivery/alert.ts'
import { noFleet } from '../core/delivery/delivery.ts'
import { isLasting } from '../core/delivery/lasting-alert.ts'
import {
  afterLook,
  type Backlog,
  backlogIn,
  backlogTrouble,
  type Clocks,
  changeFor,
  channelTrouble,
  clockTrouble,
  type Disk,
  diskTrouble,
  type Trouble,
  watchedSince,
} from '../core/delivery/own-trouble.ts'
import type { TroubleKind } from '../core/event/alert-row.ts'
import { channelsInTrouble } from './channel-health.ts'
import { noteLasting } from './lasting-alerts.ts'
import { ownersOf } from './raise-alert.ts'
import { countAll } from './read-metrics.ts'
import { channelNamed, type Relay } from './relay.ts'

/** What a host knows of its machine. Absent if it has none. */
export interface Machine {
  disk(): Promise<Disk>
  clocks(): Clocks
}

/** Remembers the last values. Logs failures, and tries again with the next check. */
export function createOwnWatch(relay: Relay, machine?: Machine): () => Promise<void> {
  let clock = machine && watchedSince(machine.clocks())
  let backlog: Backlog | undefined
  const check = async (kind: TroubleKind, find: (wasOn: boolean) => Promise<Trouble>) => {
    try {
      await note(relay, kind, find)
    } catch (error) {
      relay.log.error('own_check_failed', { kind, error: messageOf(error) })
    }
  }
  return async () => {
    const { config } = relay
    const owners = ownersOf(config, noFleet)
    if (machine && clock) {
      const looked = afterLook(clock, machine.clocks())
      clock = looked
      await check('disk_nearly_full', async (wasOn) =>
        diskTrouble(await machine.disk(), wasOn, relay.now()),
      )
      await check('clock_jumped', async (wasOn) => clockTrouble(looked, wasOn))
    }
    await check('channels_in_trouble', async () =>
      channelTrouble(await channelsInTrouble(relay), config.channels, owners),
    )
    await check('backlog_grows', async (wasOn) => {
      const [tally, troubled] = [await countAll(relay), await channelsInTrouble(relay)]
      const names = troubled.map(({ channel }) => channel)
      const before = backlog
      backlog = backlogIn(tally, Object.keys(config.channels), names)
      return backlogTrouble(backlog, before, wasOn, relay.now())
    })
  }
}

async function note(
  relay: Relay,
  kind: TroubleKind,
  find: (wasOn: boolean) => Promise<Trouble>,
): Promise<void> {
  const row = await relay.store.readEvent({ fleet: noFleet, eventId: alertId(kind) })
  const isOpen = row !== undefined && row.ended === undefined && isLasting(row)
  const known = isOpen ? row.alert.lasting.items.map(({ id }) => id) : []
  const trouble = await find(known.length > 0)
  if (known.length + trouble.items.length === 0) return
  const exists = (id: string) =>
    kind !== 'channels_in_trouble' || channelNamed(relay, id) !== undefined
  await noteLasting(relay, noFleet, kind, changeFor(trouble, known, exists, relay.now()))
}
