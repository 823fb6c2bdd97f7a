// A small file that is none: a relay goes on, and the process keeps its threads.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readSmallFile } from '../../functions/host/small-file.ts'

const path = () => join(mkdtempSync(join(tmpdir(), 'foghorn-file-')), 'token')

test('its text is read', async () => {
  const file = path()
  writeFileSync(file, 'a token\n')
  expect(await readSmallFile(file)).toBe('a token\n')
  await expect(readSmallFile(path())).rejects.toThrow('ENOENT')
})

test.skipIf(process.platform === 'win32').each<[string, (file: string) => void, string]>([
  ['a pipe', (file) => spawnSync('mkfifo', [file]), 'it is no file'],
  ['a device without end', (file) => symlinkSync('/dev/zero', file), 'it is no file'],
  [
    'an endless file',
    (file) => {
      writeFileSync(file, '')
      truncateSync(file, 1_000_000_000)
    },
    'more than 1048576 bytes',
  ],
])('%s is not read', async (_, make, why) => {
  const file = path()
  make(file)
  await expect(readSmallFile(file)).rejects.toThrow(why)
})
