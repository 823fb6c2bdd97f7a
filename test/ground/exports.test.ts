// Every export has an importer: what only its own file uses is not exported, and what nobody uses goes.
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Vitest, wrangler and workerd load these. */
const entryPoints = [
  // loaded by infra/foghorn.mjs
  'infra/commands.ts: main',
  ...['test/vitest.config.ts: default', 'test/support/test-folder.ts: default'],
  'test/hosts/worker.ts: default',
  ...['infra/cloudflare/main.ts: default', 'infra/cloudflare/main.ts: RelayObject'],
  ...['test/workerd/main.ts: default', 'test/workerd/main.ts: RelayObject'],
]

const importing = /(?:import|export)\s+(?:type\s+)?(\{[^}]*\}|[^'"{}]+?)\s+from\s+'(\.[^']+)'/g
/** A feature adds to what another file declares. */
const merging = /declare module '(\.[^']+)' \{([\s\S]*?)\n\}/g
const lazy = /import\('(\.[^']+)'\)/g
const declared =
  /^export\s+(?:async\s+)?(?:function\*?|const|let|class|interface|type)\s+(\w+)|^export\s+(default)\b/gm
const listing = /^export\s+(?:type\s+)?(\{[^}]*\})/gm

/** `{ a, type B, c as d }`: what is taken on the left, and how it is named on the right. */
function namesIn(list: string): [taken: string, named: string][] {
  const entries = list.slice(1, -1).split(',')
  return entries
    .map((entry) => entry.trim().replace(/^type\s+/, ''))
    .filter((entry) => entry !== '')
    .map((entry) => {
      const [taken = '', named = taken] = entry.split(/\s+as\s+/)
      return [taken, named]
    })
}

function importsOf(path: string, text: string): string[] {
  const fileOf = (name: string) => normalize(join(dirname(path), name)).replaceAll('\\', '/')
  const named = [...text.matchAll(importing)].flatMap(([, what = '', from = '']) => {
    if (!what.startsWith('{')) return [`${fileOf(from)}: ${what.startsWith('*') ? '*' : 'default'}`]
    return namesIn(what).map(([taken]) => `${fileOf(from)}: ${taken}`)
  })
  const merged = [...text.matchAll(merging)].flatMap(([, from = '', body = '']) =>
    [...body.matchAll(/interface (\w+)/g)].map(([, name]) => `${fileOf(from)}: ${name}`),
  )
  return [
    ...named,
    ...merged,
    ...[...text.matchAll(lazy)].map(([, from = '']) => `${fileOf(from)}: *`),
  ]
}

function exportsOf(text: string): string[] {
  return [
    ...[...text.matchAll(declared)].map(([, name, other]) => name ?? other ?? ''),
    ...[...text.matchAll(listing)].flatMap(([, list = '']) =>
      namesIn(list).map(([, name]) => name),
    ),
  ]
}

test('every export is imported by another file', async () => {
  const imported = new Set<string>()
  const exported: { path: string; name: string }[] = []
  for await (const found of glob('{beacon,functions,shared,test,infra}/**/*.ts', { cwd: root })) {
    const path = found.replaceAll('\\', '/')
    const text = readFileSync(join(root, path), 'utf8')
    for (const one of importsOf(path, text)) imported.add(one)
    exported.push(...exportsOf(text).map((name) => ({ path, name })))
  }
  const isUsed = ({ path, name }: (typeof exported)[number]) =>
    [`${path}: ${name}`, `${path}: *`].some((one) => imported.has(one) || entryPoints.includes(one))
  const unused = exported.filter((one) => !isUsed(one))
  expect(unused.map(({ path, name }) => `${path}: "${name}" needs no export`)).toEqual([])
  expect(exported.length).toBeGreaterThan(500)
})
