// Which files the runner refuses, on real files.
import { chmodSync, chownSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findHook, judgeOwner } from '../../../beacon/hooks/inspect.ts'
import { hookFolder } from './folder.ts'

const isRoot = process.getuid?.() === 0
const own = judgeOwner(process)

function stateOf(folder: string, trust = own) {
  return findHook(folder, 'prepare', trust).presence
}

test('a program that only its owner can write is ready', () => {
  const { folder } = hookFolder({ prepare: 'true' })
  expect(stateOf(folder)).toEqual({ state: 'ready' })
})

test('without a program, or without the folder, there is no hook; a file is no folder', () => {
  const { folder } = hookFolder({ restore: 'true' })
  expect(stateOf(folder)).toEqual({ state: 'absent' })
  expect(stateOf(join(folder, 'none'))).toEqual({ state: 'absent' })
  expect(stateOf(join(folder, 'restore'))).toMatchObject({ state: 'refused' })
})

test.each<[string, (place: ReturnType<typeof hookFolder>) => void, RegExp]>([
  [
    'its group may write',
    ({ folder }) => chmodSync(join(folder, 'prepare'), 0o775),
    /go-w .*prepare/,
  ],
  ['all may write', ({ folder }) => chmodSync(join(folder, 'prepare'), 0o757), /chmod go-w/],
  ['the group may write to its folder', ({ folder }) => chmodSync(folder, 0o775), /go-w .*hooks$/],
  [
    'all may write to its folder, even if it is sticky',
    ({ folder }) => chmodSync(folder, 0o1777),
    /go-w/,
  ],
  ['all may write above its folder', ({ directory }) => chmodSync(directory, 0o777), /go-w/],
  ['nobody may execute it', ({ folder }) => chmodSync(join(folder, 'prepare'), 0o644), /chmod 755/],
  [
    'it was saved on Windows',
    ({ folder }) => writeFileSync(join(folder, 'prepare'), '#!/bin/sh\r\nexit 0\r\n'),
    /line ends of Windows: run sed -i 's\/\\r\$\/\/' .*prepare/,
  ],
  [
    'it was saved on Windows, and its first line has an argument',
    ({ folder }) => writeFileSync(join(folder, 'prepare'), '#!/usr/bin/env bash\r\nexit 0\r\n'),
    /line ends of Windows/,
  ],
  [
    'its interpreter does not exist',
    ({ folder }) => writeFileSync(join(folder, 'prepare'), '#!/opt/none/python -u\n'),
    /needs \/opt\/none\/python, which does not exist/,
  ],
  [
    'it does not name its interpreter',
    ({ folder }) => writeFileSync(join(folder, 'prepare'), 'exit 0\n'),
    /does not name its interpreter: its first line must begin with #!/,
  ],
  [
    'it begins with a byte order mark',
    ({ folder }) => writeFileSync(join(folder, 'prepare'), '\ufeff#!/bin/sh\nexit 0\n'),
    /begins with a byte order mark/,
  ],
  [
    'it is a link',
    ({ folder, directory }) => {
      renameSync(join(folder, 'prepare'), join(directory, 'real'))
      symlinkSync(join(directory, 'real'), join(folder, 'prepare'))
    },
    /no regular file/,
  ],
  [
    'it is a link to nothing',
    ({ folder, directory }) => {
      renameSync(join(folder, 'prepare'), join(directory, 'real'))
      symlinkSync(join(directory, 'none'), join(folder, 'prepare'))
    },
    /no regular file/,
  ],
  [
    'its folder is a link',
    ({ folder, directory }) => {
      renameSync(folder, join(directory, 'real'))
      symlinkSync(join(directory, 'real'), folder)
    },
    /real by a link: write .*real in FOGHORN_HOOKS/,
  ],
  [
    'it is a folder',
    ({ folder, directory }) => {
      renameSync(join(folder, 'prepare'), join(directory, 'real'))
      mkdirSync(join(folder, 'prepare'))
    },
    /no regular file/,
  ],
])('it is refused if %s', (_name, spoil, note) => {
  const place = hookFolder({ prepare: 'true' })
  spoil(place)
  expect(stateOf(place.folder)).toEqual({ state: 'refused', note: expect.stringMatching(note) })
})

test('it is refused if it belongs to another user than root and the one of the runner', () => {
  const { folder } = hookFolder({ prepare: 'true' })
  // only root can give a file away; another user is itself the stranger
  if (isRoot) chownSync(join(folder, 'prepare'), 12_345, 0)
  const trust = { ...own, users: [0] }
  const note = expect.stringMatching(/belongs to user \d+, .*run chown root/)
  expect(stateOf(folder, trust)).toEqual({ state: 'refused', note })
  const all = { ...own, users: [0, 12_345, process.getuid?.() ?? 0] }
  expect(stateOf(folder, all)).toEqual({ state: 'ready' })
})

test('it is refused if its folder belongs to another', () => {
  const { folder } = hookFolder({ prepare: 'true' })
  if (isRoot) chownSync(folder, 12_345, 0)
  expect(stateOf(folder, { ...own, users: [0] })).toMatchObject({ state: 'refused' })
})

test('on Windows the ending names the interpreter', () => {
  const { folder } = hookFolder()
  const windows = { platform: 'win32', users: [], path: '' }
  expect(stateOf(folder, windows)).toEqual({ state: 'absent' })
  for (const name of ['prepare.ps1', 'prepare.cmd', 'prepare.exe']) {
    writeFileSync(join(folder, name), '')
    const { file, presence } = findHook(folder, 'prepare', windows)
    expect([file, presence.state]).toEqual([join(folder, name), 'ready'])
  }
})
