// A feature is one folder, which nothing names but the lists. So it can be taken out (`npm run without`), and a
// reader can leave it out.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const home = 'functions/features'

interface Source {
  path: string
  text: string
  /** Project paths, or names of packages. */
  imports: string[]
}

function sourcesIn(folder: string): Source[] {
  const paths = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return paths
    .filter((path) => path.endsWith('.ts'))
    .map((path) => {
      const own = join(folder, path)
      const text = readFileSync(join(root, own), 'utf8')
      const imports = [...text.matchAll(/ from '([^']+)'/g)].map(([, name = '']) =>
        name.startsWith('.') ? normalize(join(dirname(own), name)) : name,
      )
      return { path: own, text, imports }
    })
}

const product = sourcesIn('functions')
const lists = product.filter(({ path }) => dirname(path) === home)
const folders = readdirSync(join(root, home), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
const isIn = (path: string, ...places: string[]) =>
  places.some(
    (place) => path === place || path.startsWith(place.endsWith(':') ? place : `${place}/`),
  )

const pure = ['functions/core', 'shared']
const rows = ['functions/store/store.ts', 'functions/store/small-rows.ts']
const use = [...pure, ...rows, 'functions/use-cases', 'functions/features/rechecks.ts']
const http = [...pure, 'functions/use-cases', 'functions/http', 'functions/links']
const schema = ['functions/schema', 'zod']
const cli = ['functions/cli', 'functions/store', 'node:']

/** What a file of a feature may import, by the first word of its name, beside its own folder. */
const layers: Record<string, string[]> = {
  rule: pure,
  alerts: pure,
  schema: [...pure, ...schema],
  load: [...pure, ...rows],
  recheck: [...pure, 'functions/use-cases/relay.ts', 'functions/use-cases/hearer.ts'],
  use,
  // what it uses of one other feature
  needs: folders.map((name) => `${home}/${name}/use.ts`),
  texts: [],
  ability: [...pure, 'functions/use-cases/relay.ts', 'functions/host/node/ability.ts'],
  node: [...pure, 'functions/use-cases/relay.ts', 'functions/host/node/ability.ts', 'node:'],
  link: [...pure, 'functions/links'],
  // kinds of channels
  kind: [...pure, ...schema, 'functions/notify'],
  http: [...http, ...schema, 'hono'],
  page: [...pure, 'functions/pages', 'hono/html'],
  console: [...http, ...schema, 'functions/pages', 'hono'],
  command: ['functions/cli/program.ts'],
  cli: [...pure, ...schema, ...cli],
}

describe.each(folders)('the feature %s', (folder) => {
  const place = `${home}/${folder}`
  const own = product.filter(({ path }) => isIn(path, place))

  test.each(own.map(({ path, imports }) => [path, imports] as const))(
    '%s imports what its layer may',
    (path, imports) => {
      const name = path.slice(place.length + 1, -'.ts'.length).split('-')[0]!
      expect(Object.keys(layers)).toContain(name)
      expect(imports.filter((one) => !isIn(one, place, ...layers[name]!))).toEqual([])
    },
  )

  test('is imported by the lists alone', () => {
    const others = product.filter(
      ({ path }) =>
        !isIn(path, place) &&
        !lists.some((one) => one.path === path) &&
        !path.endsWith('/needs.ts'),
    )
    const faults = others.filter(({ imports }) => imports.some((name) => isIn(name, place)))
    expect(faults.map(({ path }) => path)).toEqual([])
  })

  test('none of its names is in another file', () => {
    const names = own.flatMap(({ text }) => namesIn(text))
    expect(names).not.toEqual([])
    const word = new RegExp(`\\b(${names.join('|')})\\b`)
    const others = [...product, ...sourcesIn('shared')].filter(({ path }) => !isIn(path, home))
    const faults = others.flatMap(({ path, text }) => {
      const found = word.exec(codeOf(text))
      return found === null ? [] : [`${path}: ${found[0]}`]
    })
    expect(faults).toEqual([])
  })
})

/** What a file exports, and what it adds to interfaces of others. */
function namesIn(text: string): string[] {
  const exported = [
    ...text.matchAll(/^export (?:async )?(?:function|const|interface|type|class) (\w+)/gm),
  ]
  const added = [...text.matchAll(/declare module '[^']+' \{([\s\S]*?)\n\}/g)].flatMap(
    ([, body = '']) => [...body.matchAll(/^ {4}(\w+)\??:/gm)],
  )
  return [...exported, ...added].map(([, name = '']) => name)
}

/** Without comments and texts. */
function codeOf(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''")
}

test.each(lists.map(({ path, text }) => [path, text] as const))(
  '%s has imports, and arrays or objects of what they bring',
  (_, text) => {
    const rest = text
      .replace(/\/\/.*\n|\/\*[\s\S]*?\*\/\n/g, '')
      .replace(/import (type )?\{[^}]*\} from '[^']+'\n/g, '')
      .replace(/export const \w+(: .+)? = (\[[\w\s.,]*\]|\{[\w\s.,]*\})\n/g, '')
    expect(rest.trim()).toBe('')
  },
)

/** Vitest would hide a file that needs another one to be loaded first. */
test('each list and each file of the core starts alone', { timeout: 240_000 }, async () => {
  const alone = product.filter(({ path }) => isIn(path, 'functions/core') || dirname(path) === home)
  const failed: string[] = []
  for (const { path } of alone) {
    const code = `import(${JSON.stringify(`file://${join(root, path)}`)})`
    const worker = new Worker(code, { eval: true, execArgv: [] })
    await new Promise((resolve) => {
      worker
        .once('exit', resolve)
        .once('error', (error) => failed.push(`${path}: ${error.message}`))
    })
  }
  expect(failed).toEqual([])
})
