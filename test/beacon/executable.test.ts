// What only the executable has: the runtime inside it, which files and variables could control.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { executableTitle, hasExecutable } from '../support/beacon-ways.ts'
import { setUp, start } from './process.ts'
import { temporaryDirectory } from './world.ts'

describe.skipIf(!hasExecutable)(executableTitle, () => {
  /** A folder with a program that says so if it runs. */
  function folderWithProgram() {
    const folder = temporaryDirectory()
    const program = join(folder, 'program.js')
    writeFileSync(program, 'console.log("the program ran in", process.pid)')
    return { folder, program }
  }

  test('it reads no .env, bunfig.toml, package.json or tsconfig.json', async () => {
    const { folder, program } = folderWithProgram()
    writeFileSync(join(folder, '.env'), 'FOGHORN_FLEET=from-a-file\nFOGHORN_LOG_LEVEL=no level\n')
    writeFileSync(join(folder, 'bunfig.toml'), `preload = ["${program}"]\n`)
    writeFileSync(join(folder, 'package.json'), 'no JSON')
    writeFileSync(join(folder, 'tsconfig.json'), 'no JSON')
    const { exited, output } = await start('executable', {}, { cwd: folder })
    expect(await exited).toBe(2)
    expect(output.stdout).toBe('')
    expect(output.stderr).toContain('FOGHORN_FLEET is missing')
    expect(output.stderr).not.toContain('FOGHORN_LOG_LEVEL')
  })

  test.runIf(process.platform === 'linux')(
    'it runs without variables for its runtime, and without its compiler',
    async () => {
      const { folder, program } = folderWithProgram()
      const { environment } = await setUp({
        BUN_OPTIONS: '--inspect',
        BUN_INSPECT: 'ws://127.0.0.1:1/',
        BUN_JSC_useJIT: '1',
        NODE_OPTIONS: `--require ${program}`,
      })
      const beacon = await start('executable', environment, { cwd: folder })
      await beacon.logged('report_accepted')
      const running = readFileSync(`/proc/${beacon.child.pid}/environ`, 'utf8').split('\0')
      expect(running.filter((one) => one.startsWith('BUN_'))).toEqual(['BUN_JSC_useJIT=0'])
      expect(running).toContain('FOGHORN_FLEET=shop')
      expect(beacon.output.stdout + beacon.output.stderr).not.toMatch(/the program ran|inspect/i)
    },
  )
})
