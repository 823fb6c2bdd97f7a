// The state directory of a copied disk: what waits there belongs to the VM that saw it.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { noLink } from '../../beacon/hooks/link.ts'
import { createHookStore } from '../../beacon/hooks/store.ts'
import { createTakeOver, type TakeOver } from '../../beacon/owner.ts'
import { openSpool } from '../../beacon/spool.ts'
import { startBeacon } from './agent-world.ts'
import { anEvent } from './events.ts'
import { createFakeClock } from './fake-clock.ts'
import { createTestLog, temporaryDirectory } from './world.ts'

function setUp(directory = temporaryDirectory()) {
  const log = createTestLog()
  /** Whether it was another VM's. */
  const takeOver = (vmId: string) => {
    let isOther = false
    createTakeOver(directory, log)(vmId, () => {
      isOther = true
    })
    return isOther
  }
  return { log, directory, takeOver }
}

test('a new directory belongs to the VM that uses it first, also after a restart', () => {
  const { takeOver, log } = setUp()
  expect([takeOver('vm-1'), takeOver('vm-1')]).toEqual([false, false])
  expect(log.named('state_of_another_vm')).toEqual([])
})

test('a copy is noticed once, and the log names both VMs', () => {
  const { takeOver, log } = setUp()
  takeOver('vm-1')
  expect([takeOver('vm-2'), takeOver('vm-2')]).toEqual([true, false])
  expect(log.named('state_of_another_vm')).toMatchObject([{ before: 'vm-1', now: 'vm-2' }])
})

test('a file that cannot be written stops nothing', () => {
  const { directory, takeOver, log } = setUp()
  mkdirSync(join(directory, 'vm-id'))
  expect(takeOver('vm-1')).toBe(false)
  expect(log.named('state_owner_unwritten')).toHaveLength(1)
})

test('a beacon on a copy reports nothing of the other VM, and runs no hook for it', async () => {
  const { directory } = setUp()
  const clock = createFakeClock()
  const open = () => openSpool({ directory, clock, log: createTestLog() })
  const last = open()
  last.append([{ kind: 'appeared', seenAt: 0, firstPoll: false, event: anEvent() }])
  last.close()
  const spool = open()
  const store = createHookStore(directory, createTestLog())
  const at = { wall: 0 }
  const prepare = { state: 'succeeded' as const, starts: 1, since: at }
  store.save([{ event: anEvent(), firstSeen: at, isAnswered: true, prepare }])
  const hooks = { link: noLink, store, settings: { leadMs: 0, eventTypes: undefined } }
  const takeOver: TakeOver = (_, forget) => forget()
  const beacon = startBeacon({}, { spool, hooks, takeOver })
  await beacon.clock.advance(1_000)
  expect(beacon.reports[0]?.report).toMatchObject({ changes: [] })
  expect(store.load()).toEqual([])
  spool.close()
})
