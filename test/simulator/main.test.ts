// The command, as a process of its own.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { refusalOf } from '../support/command.ts'
import { simulator } from './main.ts'

const MAIN = fileURLToPath(new URL('../../infra/foghorn.mjs', import.meta.url))

function run(...args: string[]) {
  const child = spawn(process.execPath, [MAIN, 'simulator', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    output.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    output.err += chunk
  })
  return { child, output, closed: once(child, 'close') as Promise<[number | null, string | null]> }
}

test.each(['SIGTERM', 'SIGINT'] as const)('runs until %s, then exits cleanly', async (signal) => {
  const { child, output, closed } = run('--port', '0', '--vms', 'web_0,web_1', '--vms', 'db_0')
  while (!output.out.includes('Stop with')) await once(child.stdout, 'data')
  const url = /db_0 {2}(http:\S+) {2}tenant-1/.exec(output.out)?.[1]
  const response = await fetch(`${url}/metadata/scheduledevents?api-version=2020-07-01`, {
    headers: { metadata: 'true' },
  })
  expect(await response.json()).toEqual({ DocumentIncarnation: 1, Events: [] })
  child.kill(signal)
  expect(await closed).toEqual([0, null])
  expect(output.err).toBe('')
})

test.each([
  [['--port', 'http'], '--port must be a whole number'],
  [['--port', '65535'], '--port must be a whole number from 0 to 65532'],
  [['--vms', ','], '--vms needs names'],
  [['--vms', 'a,b', '--vms', 'b'], '--vms names b twice'],
  [['--first-get-ms', '-1'], 'first-get-ms'],
  [['--api-versions', '2021-02-01'], 'not "2021-02-01"'],
  [['--api-versions', ''], '--api-versions needs'],
  [['--nonsense'], '--nonsense'],
  [['nonsense'], 'nonsense'],
])('%j: one sentence', async (args, mention) => {
  expect(await refusalOf(simulator, args)).toContain(mention)
})

test('wrong words end it with code 2', async () => {
  const { output, closed } = run('--nonsense')
  expect(await closed).toEqual([2, null])
  expect(output.err.trim().split('\n')).toHaveLength(1)
})
