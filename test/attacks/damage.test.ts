// Each value of each stored object, damaged by itself: nothing else stops, and no list fails.
import { expect, test } from 'vitest'
import { sweep } from '../../functions/use-cases/sweep.ts'
import { apiFeatures } from '../features/api.ts'
import { has } from '../support/features.ts'
import { minute, second, startRelay, world } from '../support/relay.ts'
import { subscribe } from '../support/subscriptions.ts'
import { askApi, makeToken } from '../support/tokens.ts'
import { isWhole } from '../support/whole.ts'
import { adminKey, event, FakeBeacon } from '../support/world.ts'

type Columns = Record<string, string>

interface Stored {
  partition: string
  row: string
  body: string
}

const idOf = (n: number) => `c7061bac-afdc-4513-b24b-${String(n).padStart(12, '0')}`
const notBeforeAt = () => world.clock.now + 60 * minute
const shown = (n: number) =>
  event({ eventId: idOf(n), resources: [`web_${n}`], notBeforeAt: notBeforeAt() })
const beacons: FakeBeacon[] = []
let news = 100

async function fill(): Promise<void> {
  await startRelay({ owners: ['hook'] })
  for (const n of [0, 1]) beacons.push(new FakeBeacon(world, `web_${n}`))
  for (const [n, one] of beacons.entries()) await one.sees([shown(n)])
  await makeToken(world, { name: 'reader', scopes: ['read'] })
  if (has('subscriptions')) await subscribe(world)
  for (const { things } of apiFeatures) await things?.make(world, adminKey, 'test')
  await world.drain()
  await askApi(world, adminKey, '/metrics')
}

/** Paths of values, to two levels below that of the object. */
function pathsIn(value: unknown, depth = 3): string[][] {
  if (depth === 0 || typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [
    [name],
    ...pathsIn(inner, depth - 1).map((rest) => [name, ...rest]),
  ])
}

const damages: [string, (of: Record<string, unknown>, name: string) => void][] = [
  ['another name', (of, name) => delete of[name]],
  [
    'a number out of range',
    (of, name) => Object.assign(of, { [name]: typeof of[name] === 'number' ? 8.7e15 : {} }),
  ],
  ['null', (of, name) => Object.assign(of, { [name]: null })],
  [
    'another type',
    (of, name) => Object.assign(of, { [name]: typeof of[name] === 'number' ? 'x' : 7 }),
  ],
]

function damaged({ body }: Stored, path: string[], damage: (typeof damages)[0][1]): string {
  const content = JSON.parse(body)
  const last = path.at(-1)!
  const of = path.slice(0, -1).reduce((value, name) => value[name], content)
  damage(of, last)
  return JSON.stringify(content)
}

const lists = [
  ...['/v1/events', '/v1/beacons?fleet=prod', '/v1/tokens', '/v1/channels'],
  ...apiFeatures.flatMap(({ things }) => things?.lists ?? []),
  ...['/v1/subscriptions', '/v1/events/stream?after=0&wait=0', '/metrics', '/v1/upcoming'],
]

/** What fails now. An event that is damaged itself says so. */
async function failing(): Promise<string[]> {
  const failed: string[] = []
  for (const path of lists) {
    const { status } = await askApi(world, adminKey, path)
    if (status >= 500) failed.push(`${path}: ${status}`)
  }
  world.clock.now += second
  if ((await sweep(world.relay)).failed > 0) failed.push('the sweep')
  const told = world.sent.length
  const other = new FakeBeacon(world, `new_${++news}`)
  const answer = await other.post(other.body([shown(news)]))
  if (answer.status !== 200) failed.push(`a report: ${answer.status}`)
  await world.drain()
  if (!world.sent.slice(told).some(({ body }) => body.includes(idOf(news)))) {
    failed.push('nobody is told')
  }
  return failed
}

/** As it was before the damage. */
function restore([rows, entries]: [Columns[], Columns[]]): void {
  const put = (table: string, all: Columns[]) => {
    world.store.alter(`DELETE FROM ${table}`)
    for (const one of all) {
      const names = Object.keys(one)
      const values = names.map(() => '?').join()
      world.store.alter(`INSERT INTO ${table} (${names}) VALUES (${values})`, ...Object.values(one))
    }
  }
  put('rows', rows)
  put('entries', entries)
}

interface Damage {
  what: string
  sql: string
  values: string[]
}

/** Of each place each damage, or in `npm test` one in many. */
function spread<Place, Way>(places: Place[], ways: Way[]): [Place, Way][] {
  return ways.flatMap((way, w) =>
    places
      .filter((_, i) => isWhole || i % (12 * ways.length) === w)
      .map((place): [Place, Way] => [place, way]),
  )
}

function damagesOf([rows, entries]: [(Columns & Stored)[], Columns[]]): Damage[] {
  const inRow = (column: string) => `UPDATE rows SET ${column} = ? WHERE partition = ? AND row = ?`
  const places = rows.flatMap((row) => pathsIn(JSON.parse(row.body)).map((path) => ({ row, path })))
  const bodies = spread(places, damages).map(([{ row, path }, [name, damage]]): Damage => {
    const where = [row.partition, row.row]
    const what = [...where, path.join('.'), name].join(' ')
    return { what, sql: inRow('body'), values: [damaged(row, path, damage), ...where] }
  })
  const named = rows.filter(({ keys }) => keys !== '')
  const keys = spread(named, ['[null]', '{}', '3', 'x', 'null']).map(([row, text]): Damage => {
    const where = [row.partition, row.row]
    return { what: `keys ${text} ${where}`, sql: inRow('keys'), values: [text, ...where] }
  })
  const sql =
    'UPDATE entries SET summary = ? WHERE name = ? AND key = ? AND partition = ? AND row = ?'
  const told = entries.filter(({ summary }) => summary !== '')
  const summaries = spread(told, ['[null]', '[]', '{}', 'x', 'null']).map(([one, text]): Damage => {
    const where = [one.name!, one.key!, one.partition!, one.row!]
    return { what: `summary ${text} ${where}`, sql, values: [text, ...where] }
  })
  return [...bodies, ...keys, ...summaries]
}

test('one value of what is stored is not what was written', { timeout: 300_000 }, async () => {
  await fill()
  const whole = world.store.contents() as [(Columns & Stored)[], Columns[]]
  expect(await failing()).toEqual([])
  const startedAt = world.clock.now
  const all = damagesOf(whole)
  const found: string[] = []
  for (const { what, sql, values } of all) {
    restore(whole)
    world.clock.now = startedAt
    world.store.alter(sql, ...values)
    const failed = await failing().catch((error) => [String(error)])
    if (failed.length > 0) found.push(`${what}: ${failed}`)
  }
  expect(all.length).toBeGreaterThan(30)
  expect(found).toEqual([])
})
