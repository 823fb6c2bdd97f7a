// `npm run without`: whether a feature can be taken out. It works in a copy.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { command, exitCodes, text, wrong } from '../../functions/cli/command.ts'
import { copyOfProject } from '../support/project-copy.ts'
import { withoutFolder } from './lists.ts'

const root = join(import.meta.dirname, '../..')
const folder = 'functions/features'
// exports.test.ts is left out: what the feature alone imported is not imported now
const ground = ['features', 'imports', 'ground', 'docs'].map((name) => `test/ground/${name}`)
const usualTests = [
  ...ground,
  ...['core', 'features', 'use-cases', 'http', 'cli/commands'].map((name) => `test/${name}`),
]
const limitMs = 600_000
const bin = (path: string) => [process.execPath, join(root, 'node_modules', path)]

/** What must pass without the feature. */
const steps = (tests: string[]): [name: string, words: string[]][] => [
  ['generate', [process.execPath, 'infra/foghorn.mjs', 'generate']],
  ['biome', [...bin('@biomejs/biome/bin/biome'), 'check', '--write', '.']],
  ['types', bin('typescript/bin/tsc')],
  [
    'tests',
    [
      ...bin('vitest/vitest.mjs'),
      'run',
      '--config',
      'test/vitest.config.ts',
      '--root',
      '.',
      ...tests,
    ],
  ],
]

export const features = readdirSync(join(root, folder), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

export const without = command({
  usage: 'FEATURE [--tests FOLDERS]',
  about: `
Removes a feature from a copy of the project: its folder, its tests, and its lines in the lists;
and with it the features that need it. Then runs the linter, the compiler and the other tests.

  --tests FOLDERS   by commas (default: ground, core, features, use-cases, http, commands)

Features: each folder in functions/features.

Exit codes: 0 if all else works, otherwise 1.

Example:
  npm run without -- mutes`,
  options: { tests: text },
  words: { least: 1, most: 1 },
  run({ options, words: [name = ''], io }) {
    if (!features.includes(name))
      throw wrong(`there is no feature "${name}"; there are: ${features.join(', ')}`)
    const copy = copyOfProject()
    try {
      for (const one of goingWith(copy, name)) takeOut(copy, one)
      for (const [step, [program = '', ...words]] of steps(
        options.tests?.split(',') ?? usualTests,
      )) {
        io.progress(step)
        const ran = spawnSync(program, words, {
          ...{
            cwd: copy,
            encoding: 'utf8',
            timeout: limitMs,
            env: { ...process.env, NO_COLOR: '1' },
          },
        })
        if (ran.status === 0) continue
        io.print(`without ${name}, ${step} fails:\n${ran.stdout}${ran.stderr}`)
        return exitCodes.broken
      }
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
    io.print(`without ${name}, all else works`)
    return exitCodes.fine
  },
})

/** The feature, and those that need it. */
function goingWith(copy: string, name: string): string[] {
  const needs = globSync(`${folder}/*/needs.ts`, { cwd: copy })
  const needing = needs.filter((path) =>
    readFileSync(join(copy, path), 'utf8').includes(`'../${name}/`),
  )
  return [name, ...needing.flatMap((path) => goingWith(copy, basename(dirname(path))))]
}

function takeOut(copy: string, name: string): void {
  takeOutScripts(copy, join(copy, folder, name, 'command.ts'))
  for (const path of [join(folder, name), join('test/features', name)]) {
    if (existsSync(join(copy, path))) rmSync(join(copy, path), { recursive: true })
  }
  for (const list of globSync(['functions/features/*.ts', 'test/features/*.ts'], { cwd: copy })) {
    const path = join(copy, list)
    writeFileSync(path, withoutFolder(readFileSync(path, 'utf8'), name))
  }
}

/** The scripts of package.json that call the commands of a feature. */
function takeOutScripts(copy: string, commands: string): void {
  if (!existsSync(commands)) return
  const names = [...readFileSync(commands, 'utf8').matchAll(/^ {2}(\w+): \[/gm)].map(
    ([, one]) => one,
  )
  const path = join(copy, 'package.json')
  const called = new RegExp(`^.*foghorn\\.mjs (?:${names.join('|')})",\n`, 'gm')
  writeFileSync(path, readFileSync(path, 'utf8').replace(called, ''))
}
