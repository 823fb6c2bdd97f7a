// `foghorn`: every command has help, refuses what it does not know, and stands in package.json.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { command } from '../../functions/cli/command.ts'
import { commands } from '../../infra/commands.ts'
import { playCommand, refusalOf } from '../support/command.ts'

const root = join(import.meta.dirname, '../..')
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

test('npm run NAME calls each command', () => {
  const called = Object.entries<string>(scripts).flatMap(([name, script]) => {
    const [, own] = /infra\/foghorn\.mjs (\S+)$/.exec(script) ?? []
    return own === undefined ? [] : [[name, own]]
  })
  expect(called.sort()).toEqual(
    Object.keys(commands)
      .map((name) => [name, name])
      .sort(),
  )
})

describe.each(Object.entries(commands))('%s', (name, [, load]) => {
  test('has help of at most 100 columns, and names each option in it', async () => {
    const command = await load()
    const { code, out, err } = await playCommand(name, command, ['--help'])
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(new RegExp(`^npm run ${name}`))
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
    for (const option of Object.keys(command.options ?? {})) expect(out).toContain(`--${option}`)
  })

  test('refuses an option that it does not know, in one sentence', async () => {
    const said = await refusalOf(await load(), ['--nonsense'])
    expect(said).toMatch(/^unknown option --nonsense; /)
  })
})

test('in a release, texts name the program and not npm', async () => {
  const failing = command({
    usage: 'FILE',
    about: 'As npm run backup does.',
    run() {
      throw new Error('npm run check-config -- FILE lists them')
    },
  })
  const play = (words: string[]) => playCommand('failing', failing, words, {}, { call: 'foghorn' })
  expect((await play(['--help'])).out).toBe('foghorn failing FILE\n\nAs foghorn backup does.\n')
  expect((await play([])).err).toBe('foghorn check-config FILE lists them\n')
})

test('what may not be written: the path and what to do, and no stack', async () => {
  const failing = command({
    usage: '',
    about: '',
    run() {
      throw Object.assign(new Error('EROFS: read-only file system'), {
        code: 'EROFS',
        path: '/x/dist',
      })
    },
  })
  const { code, err } = await playCommand('failing', failing, [])
  expect(code).toBe(1)
  expect(err).toContain('"/x/dist" cannot be written (EROFS); run this as a user who may')
})

describe('foghorn itself', () => {
  const run = (...words: string[]) =>
    spawnSync(process.execPath, ['infra/foghorn.mjs', ...words], { cwd: root, encoding: 'utf8' })

  test('lists the commands', () => {
    const { status, stdout } = run('--help')
    expect(status).toBe(0)
    for (const name of Object.keys(commands)) expect(stdout).toContain(`  ${name} `)
  })

  test('refuses a command that there is not', () => {
    const { status, stderr, stdout } = run('dril')
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toContain(
      'there is no command "dril"; foghorn --help lists all; did you mean "drill"?',
    )
  })
})
