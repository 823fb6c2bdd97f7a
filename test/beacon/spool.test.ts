// The state directory of a beacon: one owner at a time, and no item is lost before the relay
// accepted it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openSpool, type Spool } from '../../beacon/spool.ts'
import type { Step } from '../../beacon/watch.ts'
import { maxChanges } from '../../shared/report.ts'
import { anEvent } from './events.ts'
import { createFakeClock, type FakeClock } from './fake-clock.ts'
import { createTestLog, temporaryDirectory } from './world.ts'

function setUp(directory = temporaryDirectory(), clock: FakeClock = createFakeClock()) {
  const log = createTestLog()
  const opened: Spool[] = []
  onTestFinished(() => {
    for (const spool of opened) spool.close()
  })
  const open = (at = clock) => {
    const spool = openSpool({ directory, clock: at, log })
    opened.push(spool)
    return spool
  }
  return { directory, clock, log, open }
}

function step(eventId: string, seenAt = 0): Step {
  return { kind: 'appeared', seenAt, firstPoll: true, event: anEvent({ eventId }) }
}

function idsOf(spool: Spool): string[] {
  return spool.read().map(({ item }) => (item.kind === 'start' ? item.eventId : item.event.eventId))
}

describe('what waits', () => {
  test('is read in order until it is dropped', () => {
    const spool = setUp().open()
    spool.append([step('a'), step('b')])
    spool.append([{ kind: 'start', eventId: 'c', outcome: 'rejected', status: 400, seenAt: 0 }])
    expect(spool.read().map(({ item }) => item)).toEqual([
      { kind: 'appeared', firstPoll: true, event: anEvent({ eventId: 'a' }) },
      { kind: 'appeared', firstPoll: true, event: anEvent({ eventId: 'b' }) },
      { kind: 'start', eventId: 'c', outcome: 'rejected', status: 400 },
    ])
    spool.dropThrough(spool.read()[1]!.sequence)
    expect(idsOf(spool)).toEqual(['c'])
    spool.dropThrough(spool.read()[0]!.sequence)
    expect(idsOf(spool)).toEqual([])
  })

  test('is there after a restart, and what was dropped is not', () => {
    const { open } = setUp()
    const first = open()
    first.append([step('a'), step('b'), step('c')])
    first.dropThrough(first.read()[0]!.sequence)
    first.close()
    const second = open()
    expect(idsOf(second)).toEqual(['b', 'c'])
    second.append([step('d')])
    const sequences = second.read().map(({ sequence }) => sequence)
    expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b))
  })

  test('of an earlier process can be forgotten, and what was seen since stays', () => {
    const { open } = setUp()
    const first = open()
    first.append([step('a'), step('b')])
    first.close()
    const second = open()
    second.append([step('c')])
    second.forget()
    expect(idsOf(second)).toEqual(['c'])
    second.close()
    expect(idsOf(open())).toEqual(['c'])
  })

  test(`is at most ${maxChanges} items: the oldest give way, and that is said`, () => {
    const { open, log } = setUp()
    const spool = open()
    spool.append(Array.from({ length: maxChanges }, (_, i) => step(`e${i}`)))
    expect(log.named('spool_full')).toEqual([])
    spool.append([step('late'), step('later')])
    expect(spool.read()).toHaveLength(maxChanges)
    expect(idsOf(spool)[0]).toBe('e2')
    expect(log.named('spool_full')).toMatchObject([{ dropped: 2 }])
    spool.close()
    expect(idsOf(open())).toEqual(idsOf(spool))
  })
})

describe('the files are for their owner alone', () => {
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

  test('new ones in a new folder, and those that a person copied there', () => {
    const umask = process.umask(0)
    onTestFinished(() => void process.umask(umask))
    const directory = join(temporaryDirectory(), 'state')
    const { open } = setUp(directory)
    open().close()
    const file = join(directory, 'spool.db')
    expect([modeOf(directory), modeOf(file)]).toEqual(['700', '600'])
    for (const one of [file, `${file}.damaged`]) {
      writeFileSync(one, one === file ? readFileSync(file) : 'old')
      chmodSync(one, 0o644)
    }
    const spool = open()
    spool.append([step('a')])
    const modes = readdirSync(directory).map((name) => modeOf(join(directory, name)))
    expect(new Set(modes)).toEqual(new Set(['600']))
    expect(idsOf(spool)).toEqual(['a'])
  })
})

describe('ages', () => {
  const gone: Step = { ...step('a'), kind: 'gone', seenAt: 5_000, lastSeenAt: 4_000 }
  const agesOf = (spool: Spool) => spool.read().map((one) => [one.ageMs(), one.lastSeenAgeMs()])

  test('of one process do not heed a jump of the wall clock', async () => {
    const { clock, open } = setUp()
    const spool = open()
    await clock.advance(6_000)
    spool.append([gone])
    clock.jump(-3_600_000)
    await clock.advance(500)
    expect(agesOf(spool)).toEqual([[1_500, 2_500]])
  })

  test('go on across a restart by the wall clock', async () => {
    const { clock, open } = setUp()
    const first = open()
    await clock.advance(6_000)
    first.append([gone])
    first.close()
    const rebooted = createFakeClock()
    rebooted.jump(66_000)
    expect(agesOf(open(rebooted))).toEqual([[61_000, 62_000]])
  })

  test('are never negative', () => {
    const { clock, open } = setUp()
    const first = open()
    first.append([step('a')])
    first.close()
    clock.jump(-3_600_000)
    expect(agesOf(open())).toEqual([[0, undefined]])
  })
})

describe('the directory', () => {
  test('serves one beacon at a time', () => {
    const { directory, open } = setUp()
    const first = open()
    const refusal = expect.objectContaining({
      code: 'state_dir_in_use',
      message: expect.stringContaining(directory),
    })
    expect(open).toThrow(refusal)
    first.append([step('a')])
    first.dropThrough(1)
    expect(open).toThrow(refusal)
    first.close()
    expect(idsOf(open())).toEqual([])
  })

  test('is free again when its beacon is killed, with all that it held', async () => {
    const { directory, open } = setUp()
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'spool-holder.ts'), directory],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    await once(child.stdout, 'data')
    expect(open).toThrow(expect.objectContaining({ code: 'state_dir_in_use' }))
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(idsOf(open())).toEqual(['held'])
  })

  test('that cannot be used costs durability, not the report', () => {
    const file = join(temporaryDirectory(), 'file')
    writeFileSync(file, '')
    const folder = temporaryDirectory()
    mkdirSync(join(folder, 'spool.db'))
    for (const directory of [file, folder]) {
      const { open, log } = setUp(directory)
      const spool = open()
      spool.append([step('a')])
      expect(idsOf(spool)).toEqual(['a'])
      const hint = expect.stringContaining(`let the beacon write to ${directory}`)
      expect(log.named('state_dir_unusable')).toMatchObject([{ hint }])
      expect(log.named('spool_write_failed')).toEqual([])
    }
  })
})

describe('a damaged file', () => {
  test.each<[string, (file: string) => void]>([
    ['that is no database', (file) => writeFileSync(file, 'x'.repeat(9_000))],
    ['of another schema', (file) => withDatabase(file, 'PRAGMA user_version = 99')],
    ['with another table', (file) => withDatabase(file, `CREATE TABLE item (x); ${ours}`)],
    ['with a number that is too large', (file) => withDatabase(file, `${table}; ${huge}; ${ours}`)],
    ['with a page that was overwritten', overwritePage],
  ])('%s is moved aside, and a new one begun', (_, damage) => {
    const { directory, open, log } = setUp()
    damage(join(directory, 'spool.db'))
    const spool = open()
    expect(log.named('spool_damaged')).toHaveLength(1)
    expect(readdirSync(directory)).toContain('spool.db.damaged')
    spool.append([step('a')])
    spool.close()
    expect(idsOf(open())).toEqual(['a'])
    expect(log.named('spool_damaged')).toHaveLength(1)
  })

  test('a row that cannot be read does not hide the others', () => {
    const { directory, open, log } = setUp()
    const first = open()
    first.append([step('a'), step('b'), step('c')])
    first.close()
    const file = join(directory, 'spool.db')
    withDatabase(file, "UPDATE item SET body = '{' WHERE sequence = 1")
    withDatabase(file, `UPDATE item SET body = '{"kind":"odd"}' WHERE sequence = 3`)
    const spool = open()
    expect(idsOf(spool)).toEqual(['b'])
    expect(log.named('spool_item_unreadable')).toHaveLength(2)
    spool.append([step('d')])
    expect(idsOf(spool)).toEqual(['b', 'd'])
    expect(log.named('spool_write_failed')).toEqual([])
  })
})

test('a file that can no longer be written costs durability, not the report', () => {
  const { directory, open, log } = setUp()
  open().close()
  const full = "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
  withDatabase(join(directory, 'spool.db'), `CREATE TRIGGER full BEFORE INSERT ON item ${full}`)
  const spool = open()
  spool.append([step('a')])
  expect(idsOf(spool)).toEqual(['a'])
  expect(log.named('spool_write_failed')).toMatchObject([
    { error: expect.stringMatching(/disk is full/), hint: expect.stringContaining(directory) },
  ])
  spool.dropThrough(spool.read()[0]!.sequence)
  expect(idsOf(spool)).toEqual([])
})

const ours = 'PRAGMA user_version = 1'
const table =
  'CREATE TABLE item (sequence INTEGER PRIMARY KEY, seen_at REAL, last_seen_at REAL, body TEXT)'
const huge = "INSERT INTO item VALUES (9223372036854775807, 0, 0, '{}')"

function withDatabase(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

/** Leaves the header whole, so that the file opens and only its content is wrong. */
function overwritePage(file: string): void {
  withDatabase(file, 'CREATE TABLE item (body TEXT); CREATE INDEX i ON item (body)')
  withDatabase(file, "INSERT INTO item VALUES ('x')")
  const pageBytes = 4_096
  writeFileSync(file, readFileSync(file).fill(0xee, pageBytes))
}
