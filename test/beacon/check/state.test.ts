// What the check says about the state folder, which it neither opens nor changes.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkStateFolder } from '../../../beacon/check.ts'
import { systemClock } from '../../../beacon/clock.ts'
import { openSpool } from '../../../beacon/spool.ts'
import { createTestLog, temporaryDirectory } from '../world.ts'

const findingOn = (directory: string) => checkStateFolder(directory)[0]!

test('a folder that can be written', () => {
  const folder = temporaryDirectory()
  expect(findingOn(folder)).toMatchObject({ result: 'ok', text: `${folder} can be written` })
  expect(readdirSync(folder)).toEqual([])
})

test('a folder that is not there yet is not made', () => {
  const folder = join(temporaryDirectory(), 'lib', 'foghorn')
  expect(findingOn(folder)).toMatchObject({ result: 'ok', text: `${folder} will be created` })
  expect(existsSync(folder)).toBe(false)
})

test('the folder of a running beacon, whose database is not touched', () => {
  const directory = temporaryDirectory()
  const spool = openSpool({ directory, clock: systemClock, log: createTestLog() })
  const read = () => readdirSync(directory).map((name) => readFileSync(join(directory, name)))
  const before = read()
  expect(findingOn(directory).result).toBe('ok')
  expect(read()).toEqual(before)
  spool.close()
})

test('a file in its place', () => {
  const file = join(temporaryDirectory(), 'state')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'deeper')]) {
    expect(findingOn(path)).toMatchObject({
      result: 'fix',
      text: expect.stringContaining('FOGHORN_STATE_DIR'),
    })
  }
})

test.runIf(process.platform === 'linux')('a disk without space', () => {
  expect(findingOn('/proc/foghorn').result).toBe('fix')
})
