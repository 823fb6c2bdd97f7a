import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { killGroup, maxOutputChars, windowsCommand } from '../../../beacon/hooks/execute.ts'
import { programsIn } from '../../../beacon/hooks/programs.ts'
import { createLog } from '../../../shared/log.ts'
import { maxHookNote } from '../../../shared/report.ts'
import { newFolder } from '../../support/folder.ts'
import { anEvent } from '../events.ts'
import { anOrder, isAlive, startRunner, waitLimit } from './folder.ts'

describe('a hook', () => {
  test('gets its event as JSON, with the names of webhooks', async () => {
    const { runner, ended, noted } = startRunner({ prepare: 'cat > $NOTES' })
    runner.run(
      anOrder({
        event: anEvent({ source: 'Platform', durationSeconds: 9, description: 'a\nb' }),
      }),
    )
    expect(await ended()).toEqual({ run: 'run-1', state: 'succeeded' })
    expect(JSON.parse(noted()[0]!)).toEqual({
      ...{ hook: 'prepare', vm: 'vm1', limitSeconds: 30 },
      ...{ eventId: 'e1', phase: 'scheduled', eventType: 'Reboot', source: 'Platform' },
      ...{ resources: ['vm1'], notBefore: '2026-01-01T01:00:00.000Z', durationSeconds: 9 },
      ...{ description: 'a\nb', firstSeenAt: '2026-01-01T00:00:00.000Z' },
    })
  })

  test('gets its event as variables, and of its runner PATH, HOME and LANG only', async () => {
    const { runner, ended, noted } = startRunner(
      { restore: 'env > $NOTES' },
      {
        ...{ PATH: process.env.PATH, HOME: '/root', LANG: 'C.UTF-8' },
        ...{
          FOGHORN_FLEET_KEY: 'whsec_secret',
          FOGHORN_HOOKS: '/x',
          AZURE_CLIENT_SECRET: 'secret',
        },
      },
    )
    const event = anEvent({ resources: ['vm1', 'vm2'], description: 'one\ntwo\0three' })
    runner.run(anOrder({ hook: 'restore', event, endedAt: Date.UTC(2026, 0, 1, 2) }))
    await ended()
    // the shell itself adds PWD and _
    const variables = noted().filter((line) => !/^(PWD|SHLVL|_|OLDPWD)=/.test(line))
    expect(variables.sort()).toEqual(
      [
        `PATH=${process.env.PATH}`,
        ...['HOME=/root', 'LANG=C.UTF-8'],
        ...['FOGHORN_EVENT_HOOK=restore', 'FOGHORN_EVENT_VM=vm1', 'FOGHORN_EVENT_ID=e1'],
        ...['FOGHORN_EVENT_LIMIT_SECONDS=30', 'FOGHORN_EVENT_TYPE=Reboot'],
        ...['FOGHORN_EVENT_STATUS=Scheduled', 'FOGHORN_EVENT_RESOURCES=vm1,vm2'],
        ...['FOGHORN_EVENT_NOT_BEFORE=2026-01-01T01:00:00.000Z'],
        ...['FOGHORN_EVENT_DESCRIPTION=one two three'],
        ...['FOGHORN_EVENT_ENDED_AT=2026-01-01T02:00:00.000Z'],
      ].sort(),
    )
  })

  test('may be hit together with 1,000 VMs of the longest names', async () => {
    const { runner, ended, noted } = startRunner({
      prepare: 'wc -c >> $NOTES; printf %s "$FOGHORN_EVENT_RESOURCES" | wc -c >> $NOTES',
    })
    const resources = Array.from({ length: 1_000 }, (_, i) => `${i}`.padStart(256, 'v'))
    runner.run(anOrder({ event: anEvent({ resources }) }))
    expect(await ended()).toMatchObject({ state: 'succeeded' })
    const [json, names] = noted().map(Number)
    expect(json).toBeGreaterThan(256_000)
    expect((names! + 1) % 257).toBe(0)
  })

  test('need not read its input', async () => {
    const { runner, ended } = startRunner({ prepare: 'exec <&-; exit 0' })
    const resources = Array.from({ length: 1_000 }, (_, i) => `${i}`.padStart(256, 'v'))
    runner.run(anOrder({ event: anEvent({ resources }) }))
    expect(await ended()).toMatchObject({ state: 'succeeded' })
  })
})

describe('how it ended', () => {
  test.each<[string, string, object]>([
    ['well', 'echo one; echo two', { state: 'succeeded', note: 'two' }],
    ['well, and silent', 'true', { state: 'succeeded' }],
    ['with another code', 'echo no >&2; exit 3', { state: 'failed', exitCode: 3, note: 'no' }],
    ['by a signal', 'kill -KILL $$', { state: 'failed', note: 'killed by SIGKILL' }],
    ['in colors', 'printf "\\033[31mred\\007\\n\\n"', { state: 'succeeded', note: '[31mred' }],
    ['without a line end', 'printf last', { state: 'succeeded', note: 'last' }],
  ])('%s is known', async (_name, program, expected) => {
    const { runner, ended } = startRunner({ prepare: program })
    runner.run(anOrder())
    expect(await ended()).toEqual({ run: 'run-1', ...expected })
  })

  test('a program that cannot start says why', async () => {
    const log = createLog({ write() {}, now: () => 0, level: 'error' })
    const never = new AbortController().signal
    const outcome = await programsIn(newFolder('hooks'), {}, log).run(
      anOrder(),
      never,
      never,
      () => {},
    )
    expect(outcome).toMatchObject({ state: 'failed', note: expect.stringContaining('start') })
  })

  test('a refused program does not run, and says why', async () => {
    const { runner, ended, folder, log, noted } = startRunner({ prepare: 'echo ran > $NOTES' })
    chmodSync(join(folder, 'prepare'), 0o777)
    expect(runner.status().prepare).toMatchObject({ state: 'refused' })
    runner.run(anOrder())
    expect(await ended()).toMatchObject({ state: 'refused', note: expect.stringContaining('go-w') })
    expect(noted()).toEqual([])
    expect(log.named('hook_refused')).toHaveLength(1)
    chmodSync(join(folder, 'prepare'), 0o755)
    runner.run(anOrder({ run: 'run-2' }))
    expect(await ended('run-2')).toMatchObject({ state: 'succeeded' })
  })

  test('a program that is gone does not run', async () => {
    const { runner, ended } = startRunner({})
    runner.run(anOrder())
    expect(await ended()).toMatchObject({ state: 'refused' })
  })
})

describe('its output', () => {
  test('is logged up to a limit, and its last line is kept', async () => {
    const { runner, ended, log } = startRunner({
      prepare:
        'i=0; while [ $i -lt 3000 ]; do echo "$i ....................................."; i=$((i+1)); done; echo end',
    })
    runner.run(anOrder())
    expect(await ended()).toMatchObject({ state: 'succeeded', note: 'end' })
    const lines = log.named('hook_output').map(({ line }) => String(line))
    expect(lines[0]).toMatch(/^0 \./)
    const size = lines.join('').length
    expect(size).toBeGreaterThan(maxOutputChars - 1_000)
    expect(size).toBeLessThan(maxOutputChars + 1_000)
    expect(log.named('hook_output_cut')).toHaveLength(1)
  })

  test('has no limit that stops the hook, also without line ends', async () => {
    const { runner, ended, log } = startRunner({
      prepare: 'head -c 5000000 /dev/zero | tr "\\0" x',
    })
    runner.run(anOrder())
    const { note } = (await ended()) as { note: string }
    expect(note).toHaveLength(maxHookNote)
    expect(log.named('hook_output').length).toBeLessThan(100)
  })

  test('shows no token', async () => {
    const { runner, ended, log } = startRunner({
      prepare: 'echo token eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln',
    })
    runner.run(anOrder())
    expect(await ended()).toMatchObject({ note: 'token [token]' })
    expect(JSON.stringify(log.entries)).not.toContain('eyJhbGciOiJub25lIn0')
  })
})

describe('the end of its limit', () => {
  const stubborn =
    'trap "" TERM; (trap "" TERM; echo $$ >> $NOTES; sleep 60) & echo $! >> $NOTES; sleep 60; echo never'

  test('kills it with its children, even if they ignore SIGTERM', async () => {
    const { runner, ended, noted } = startRunner({ prepare: `echo begun; ${stubborn}` })
    const startedAt = performance.now()
    runner.run(anOrder({ limitMs: 1_000 }))
    const end = await ended()
    expect(end).toEqual({
      ...{ run: 'run-1', state: 'failed', note: 'killed at its limit of 1 s: begun' },
    })
    expect(performance.now() - startedAt).toBeGreaterThan(800)
    const pids = noted().map(Number)
    expect(pids).toHaveLength(2)
    await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), waitLimit)
  })

  test('asks it by SIGTERM first', async () => {
    const { runner, ended, noted } = startRunner({
      prepare: 'trap "echo asked >> $NOTES; exit 0" TERM; sleep 60 & wait',
    })
    runner.run(anOrder({ limitMs: 2_000 }))
    expect(await ended()).toMatchObject({ state: 'failed' })
    expect(noted()).toEqual(['asked'])
  })

  test('is not needed for what it leaves running: that ends with it', async () => {
    const { runner, ended, noted } = startRunner({ prepare: 'sleep 60 & echo $! > $NOTES' })
    runner.run(anOrder())
    expect(await ended()).toMatchObject({ state: 'succeeded' })
    await vi.waitFor(() => expect(isAlive(Number(noted()[0]))).toBe(false), waitLimit)
  })

  test('a daemon that keeps the output open holds nothing up', async () => {
    const { runner, ended, noted } = startRunner({
      prepare:
        'setsid sh -c "echo \\$\\$ > $NOTES; exec sleep 60" & while [ ! -s $NOTES ]; do :; done',
    })
    runner.run(anOrder())
    expect(await ended()).toMatchObject({ state: 'succeeded' })
    const pid = Number(noted()[0])
    expect(isAlive(pid)).toBe(true)
    process.kill(pid, 'SIGKILL')
  })
})

describe('one at a time', () => {
  const counted =
    'mkdir $NOTES.lock || echo two >> $NOTES; sleep 0.2; rmdir $NOTES.lock; echo one >> $NOTES'

  test('an order during a run is ignored, and so is the same order again', async () => {
    const { runner, ended, noted } = startRunner({ prepare: counted, restore: counted })
    runner.run(anOrder())
    runner.run(anOrder())
    runner.run(anOrder({ run: 'run-2', hook: 'restore' }))
    expect(runner.status().running).toBe('run-1')
    await ended()
    runner.run(anOrder())
    expect(runner.status().running).toBeUndefined()
    runner.run(anOrder({ run: 'run-2', hook: 'restore' }))
    await ended('run-2')
    expect(noted()).toEqual(['one', 'one'])
    expect(runner.status().ended.map(({ run }) => run)).toEqual(['run-1', 'run-2'])
  })
})

describe('a runner that stops', () => {
  test('ends the hook, and does not call that its outcome', async () => {
    const { runner, noted } = startRunner({ prepare: 'echo $$ > $NOTES; sleep 60' })
    runner.run(anOrder())
    await vi.waitFor(() => expect(noted()).toHaveLength(1), waitLimit)
    await runner.stop()
    expect(isAlive(Number(noted()[0]))).toBe(false)
    expect(runner.status().ended).toEqual([])
  })
})

test.each([
  ['C:\\hooks\\prepare.exe', 'C:\\hooks\\prepare.exe', []],
  [
    'C:\\my hooks\\prepare.cmd',
    'D:\\W\\System32\\cmd.exe',
    ['/d', '/s', '/c', '""C:\\my hooks\\prepare.cmd""'],
  ],
])('Windows starts %s', (file, program, words) => {
  expect(windowsCommand(file, { SystemRoot: 'D:\\W' })).toEqual({ program, words })
})

test('Windows starts a script of PowerShell without its profile', () => {
  const { program, words } = windowsCommand('C:\\hooks\\prepare.ps1', {})
  expect(program).toMatch(/^C:\\Windows\\.*powershell.exe$/)
  expect(words).toContain('-NoProfile')
  expect(words.at(-1)).toBe('"C:\\hooks\\prepare.ps1"')
})

test.each(['ESRCH', 'EPERM'])('a group that cannot be killed (%s) stops no runner', (code) => {
  // EPERM: all that is left of the group belongs to another user, as after sudo
  const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error(code), { code })
  })
  killGroup(4_000_000, 'SIGKILL')
  expect(kill).toHaveBeenCalledWith(-4_000_000, 'SIGKILL')
  kill.mockRestore()
})
