// The examples of hooks, run by the real runner. Commands such as systemctl are played: they come
// first on PATH. The examples for Windows need Windows, so they are not run.
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Hook } from '../../shared/report.ts'
import { anOrder, hookFolder, startRunner } from '../beacon/hooks/folder.ts'

const examples = join(import.meta.dirname, '../../infra/vm/hooks')

/** The example in a folder of its own, with these values in its first lines. */
function anExample(name: string, values: (directory: string) => Record<string, string>) {
  const place = hookFolder()
  for (const hook of ['prepare', 'restore'] as const) {
    let text = readFileSync(join(examples, name, hook), 'utf8')
    for (const [variable, value] of Object.entries(values(place.directory))) {
      const line = new RegExp(`^${variable}=.*$`, 'm')
      text = text.replace(line, `${variable}=${value}`)
    }
    place.write(hook, text)
  }
  const bin = join(place.directory, 'bin')
  mkdirSync(bin)
  const play = (command: string, lines: string) => {
    const file = join(bin, command)
    writeFileSync(file, `#!/bin/sh\n${lines.replaceAll('$NOTES', place.notes)}\n`)
    chmodSync(file, 0o755)
  }
  const { runner, ended } = startRunner({}, { PATH: `${bin}:${process.env.PATH}` }, place)
  let count = 0
  const run = (hook: Hook, limitMs = 20_000) => {
    count += 1
    runner.run(anOrder({ run: `${count}`, hook, limitMs }))
    return ended(`${count}`)
  }
  return { ...place, play, run }
}

describe('the load balancer', () => {
  function setUp() {
    const example = anExample('load-balancer', (directory) => ({
      health_file: join(directory, 'healthy'),
      notice_seconds: '0',
    }))
    const file = join(example.directory, 'healthy')
    writeFileSync(file, '')
    return { ...example, isHealthy: () => existsSync(file) }
  }

  test('sees the VM leave, and come back, however often each runs', async () => {
    const { play, run, isHealthy, noted } = setUp()
    // two clients, then one, then none
    play(
      'ss',
      'echo "$@" >> $NOTES; case $(wc -l < $NOTES) in 1) echo a; echo b;; 2) echo a;; esac',
    )
    expect(await run('prepare')).toMatchObject({
      state: 'succeeded',
      note: expect.stringContaining('No connection'),
    })
    expect(isHealthy()).toBe(false)
    expect(noted()).toHaveLength(3)
    expect(await run('prepare')).toMatchObject({ state: 'succeeded' })
    for (let i = 0; i < 2; i++) {
      expect(await run('restore')).toMatchObject({ state: 'succeeded' })
      expect(isHealthy()).toBe(true)
    }
  })

  test('with clients that stay, the VM is not ready, and the note says so', async () => {
    const { play, run, isHealthy } = setUp()
    play('ss', 'echo a; echo b')
    const note = expect.stringContaining('2 connections')
    expect(await run('prepare', 1_500)).toMatchObject({ state: 'failed', note })
    expect(isHealthy()).toBe(false)
  })
})

describe('the database', () => {
  function setUp() {
    const example = anExample('database', (directory) => ({ memory: join(directory, 'memory') }))
    const state = join(example.directory, 'state')
    const set = (text: string) => writeFileSync(state, text)
    set('active')
    example.play(
      'systemctl',
      `[ "$1" = is-active ] && exec grep -qx active ${state}
      echo "$*" >> $NOTES
      case $1 in start) printf active > ${state};; stop) printf inactive > ${state};; esac`,
    )
    return { ...example, set, state: () => readFileSync(state, 'utf8') }
  }

  test('is stopped, and started afterwards, however often each runs', async () => {
    const { run, state, noted } = setUp()
    for (let i = 0; i < 2; i++) {
      expect(await run('prepare')).toMatchObject({ state: 'succeeded' })
      expect(state()).toBe('inactive')
    }
    for (let i = 0; i < 2; i++) {
      expect(await run('restore')).toMatchObject({ state: 'succeeded' })
      expect(state()).toBe('active')
    }
    expect(noted()).toEqual(['stop postgresql', 'start postgresql'])
  })

  test('stays stopped if it was', async () => {
    const { run, set, state, noted } = setUp()
    set('inactive')
    await run('prepare')
    expect(await run('restore')).toMatchObject({ state: 'succeeded' })
    expect(state()).toBe('inactive')
    expect(noted()).toEqual([])
  })

  test('that does not start makes restore fail', async () => {
    const { run, play } = setUp()
    await run('prepare')
    play('systemctl', '[ "$1" != is-active ]')
    expect(await run('restore')).toMatchObject({ state: 'failed', exitCode: 1 })
  })
})

test('each example has both hooks, and those for Linux can be executed', () => {
  for (const name of readdirSync(examples)) {
    const ending = name === 'windows' ? '.ps1' : ''
    expect(readdirSync(join(examples, name)).sort()).toEqual([
      `prepare${ending}`,
      `restore${ending}`,
    ])
    if (ending !== '') continue
    for (const hook of ['prepare', 'restore'])
      accessSync(join(examples, name, hook), constants.X_OK)
  }
})
