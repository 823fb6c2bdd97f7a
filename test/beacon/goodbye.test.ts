// The last report: when it is sent, what it says, how long it may take, and where its reason comes
// from.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createStopping } from '../../beacon/goodbye.ts'
import { accepted, failing, startBeacon } from './agent-world.ts'
import { anEvent } from './events.ts'
import { temporaryDirectory } from './world.ts'

describe('the last report', () => {
  test('has the reason, the next counter and all that waits; then nothing follows', async () => {
    const { clock, reports, spool, log, world, stop } = startBeacon(
      { events: [anEvent()], reply: () => ({ kind: 'failed', reason: 'ECONNREFUSED' }) },
      { whyStopping: async () => 'upgrade' },
    )
    await clock.advance(1_000)
    world.reply = () => accepted()
    await clock.advance(10_000)
    world.reply = () => ({ kind: 'failed', reason: 'ECONNREFUSED' })
    world.events = []
    await clock.advance(2_000)
    const before = reports.at(-1)!.report
    world.reply = () => accepted()
    await stop()
    const last = reports.at(-1)!.report
    expect(last).toMatchObject({ goodbye: 'upgrade', beacon: { bootId: before.beacon.bootId } })
    expect(last.beacon.counter).toBe(before.beacon.counter + 1)
    expect(last.changes.map(({ kind }) => kind)).toEqual(['gone'])
    expect(spool.read()).toEqual([])
    expect(log.named('goodbye_sent')).toMatchObject([{ goodbye: 'upgrade', accepted: true }])
    const count = reports.length
    await clock.advance(600_000)
    expect(reports).toHaveLength(count)
    expect(reports.filter(({ report }) => report.goodbye !== undefined)).toHaveLength(1)
  })

  test('carries out no directive', async () => {
    const { clock, posts, stop } = startBeacon({
      events: [anEvent()],
      reply: ({ goodbye }) =>
        goodbye === undefined
          ? accepted()
          : accepted({ directives: [{ eventId: 'e1', eventType: 'Reboot', resources: ['vm1'] }] }),
    })
    await clock.advance(1_000)
    await stop()
    await clock.advance(10_000)
    expect(posts).toEqual([])
  })

  test('waits 2 s for a relay that hangs, and keeps what it did not accept', async () => {
    const { clock, world, spool, running, log, stop } = startBeacon({ events: [anEvent()] })
    await clock.advance(1_000)
    world.reply = () => 'hang'
    world.events = []
    await clock.advance(1_000)
    let ended = false
    void running.then(() => {
      ended = true
    })
    const stopped = stop()
    await stopped
    expect(ended).toBe(true)
    expect(log.named('goodbye_sent')).toMatchObject([{ accepted: false }])
    expect(spool.read()).toHaveLength(1)
  })

  test.each([
    ['a VM that IMDS has not identified', { identity: failing() }],
    ['a relay that never accepted a report', { reply: () => ({ kind: 'failed', reason: 'x' }) }],
  ] as const)('is not sent for %s', async (_, played) => {
    const { clock, reports, stop } = startBeacon(played as object)
    await clock.advance(5_000)
    await stop()
    expect(reports.filter(({ report }) => report.goodbye !== undefined)).toEqual([])
  })

  test('is not sent by a beacon that fails', async () => {
    let isBroken = false
    const uptimeMs = () => {
      if (isBroken) throw new Error('broken')
      return 1
    }
    const beacon = startBeacon({ reply: () => accepted({ paceMs: 2_000 }) }, { uptimeMs })
    await beacon.clock.advance(1_000)
    isBroken = true
    const failed = expect(beacon.running).rejects.toThrow('broken')
    await beacon.clock.advance(5_000)
    await failed
    expect(beacon.reports.filter(({ report }) => report.goodbye !== undefined)).toEqual([])
  })
})

describe('the reason', () => {
  const nowhere = '/nowhere/at/all'

  /** Stands for systemctl, and for the folder of a system that runs systemd. */
  function systemd(answer: string, code = 1) {
    const directory = temporaryDirectory()
    const systemctl = join(directory, 'systemctl')
    writeFileSync(
      systemctl,
      `#!/bin/sh\n[ "$1" = is-system-running ] && echo ${answer}\nexit ${code}\n`,
    )
    chmodSync(systemctl, 0o755)
    return { systemctl, booted: directory }
  }

  test.each(['upgrade', 'removed', 'shutdown'])('"%s" in the file is read once', async (word) => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'stopping'), `${word}\n`)
    const stopping = createStopping(directory, { booted: nowhere })
    expect(await stopping.reason()).toBe(word)
    expect(existsSync(join(directory, 'stopping'))).toBe(false)
    expect(await stopping.reason()).toBe('stopped')
  })

  test('other words and a folder in place of the file mean nothing', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'stopping'), 'because')
    expect(await createStopping(directory, { booted: nowhere }).reason()).toBe('stopped')
    mkdirSync(join(directory, 'stopping'))
    expect(await createStopping(directory, { booted: nowhere }).reason()).toBe('stopped')
  })

  test('a reason that an earlier stop left behind is removed at the start', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'stopping'), 'removed')
    const stopping = createStopping(directory, { booted: nowhere })
    stopping.clear()
    expect(await stopping.reason()).toBe('stopped')
  })

  test.each([
    ['stopping', 'shutdown'],
    ['running', 'stopped'],
    ['degraded', 'stopped'],
  ])('systemd answers "%s": %s', async (answer, reason) => {
    const found = createStopping(temporaryDirectory(), systemd(answer))
    expect(await found.reason()).toBe(reason)
  })

  test('without systemctl it is "stopped"', async () => {
    const directory = temporaryDirectory()
    const options = { systemctl: join(directory, 'none'), booted: directory }
    expect(await createStopping(directory, options).reason()).toBe('stopped')
  })
})
