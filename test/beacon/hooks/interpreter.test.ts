// What the runner sees of the programs that a hook's first line starts, on real files.
import {
  chmodSync,
  chownSync,
  copyFileSync,
  lchownSync,
  mkdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findHook, judgeOwner } from '../../../beacon/hooks/inspect.ts'
import { programsIn } from '../../../beacon/hooks/programs.ts'
import { createLog } from '../../../shared/log.ts'
import { hookFolder } from './folder.ts'

const stranger = 12_345

/** A hook whose interpreter, a copy of sh, has a folder of its own. All belongs to root. */
function begin(line = (shell: string) => `#!${shell}`) {
  const { folder, directory } = hookFolder({ prepare: 'true' })
  const tools = join(directory, 'tools')
  mkdirSync(tools)
  const shell = join(tools, 'tool')
  copyFileSync('/bin/sh', shell)
  const name = (text: string) => writeFileSync(join(folder, 'prepare'), `${text}\nexit 0\n`)
  name(line(shell))
  const own = judgeOwner(process)
  const look = (path = tools) => findHook(folder, 'prepare', { ...own, path }).presence
  const expectRefused = (note: RegExp, path?: string) =>
    expect(look(path)).toEqual({ state: 'refused', note: expect.stringMatching(note) })
  return { folder, directory, tools, shell, name, look, expectRefused }
}
const ready = { state: 'ready' }

describe.runIf(process.getuid?.() === 0 && process.platform === 'linux')('a program', () => {
  test.each<[string, (shell: string) => string]>([
    ['alone', (shell) => `#!${shell}`],
    ['with a space before it', (shell) => `#! ${shell} -e`],
    ['behind env', (shell) => `#!/usr/bin/env ${shell}`],
    ['behind env -S', (shell) => `#!/usr/bin/env -S LANG=C ${shell} -e`],
    ['that env finds', (shell) => `#!/usr/bin/env ${basename(shell)}`],
    ['that another program starts', (shell) => `#!/usr/bin/nice ${shell}`],
  ])('%s must not belong to another', (_, line) => {
    const { shell, look, expectRefused } = begin(line)
    expect(look()).toEqual(ready)
    chownSync(shell, stranger, 0)
    expectRefused(/tool belongs to user 12345: name a (program|file) of root/)
  })

  test.each(['a program', 'a folder on the way'])('must not be open to everybody: %s', (what) => {
    const { shell, tools, expectRefused } = begin()
    const place = what === 'a program' ? shell : tools
    chmodSync(place, 0o777)
    expectRefused(/anybody may write to .*: name/)
    // which guards what is in a folder, not what is in a file
    chmodSync(place, 0o1777)
    if (what === 'a program') expectRefused(/anybody may write to/)
  })

  test('must not be found by a link of another', () => {
    const { directory, shell, look, expectRefused } = begin()
    const own = join(directory, 'own')
    mkdirSync(own)
    renameSync(shell, join(directory, 'real'))
    symlinkSync('../real', join(own, 'sh'))
    symlinkSync(join(own, 'sh'), shell)
    expect(look()).toEqual(ready)
    lchownSync(join(own, 'sh'), stranger, 0)
    expectRefused(/own.sh belongs to user 12345/)
  })

  test('is looked for where Linux looks: .. behind a link leads above its target', () => {
    const { directory, tools, shell, name, look, expectRefused } = begin()
    const theirs = join(directory, 'theirs')
    mkdirSync(join(theirs, 'folder'), { recursive: true })
    renameSync(shell, join(theirs, 'tool'))
    symlinkSync(join(theirs, 'folder'), join(tools, 'link'))
    copyFileSync('/bin/sh', shell)
    name(`#!${tools}/link/../tool`)
    expect(look()).toEqual(ready)
    chownSync(join(theirs, 'tool'), stranger, 0)
    expectRefused(/theirs.tool belongs to user 12345/)
  })

  test('must not be behind links without end', () => {
    const { tools, name, expectRefused } = begin()
    symlinkSync(join(tools, 'b'), join(tools, 'a'))
    symlinkSync(join(tools, 'a'), join(tools, 'b'))
    name(`#!${tools}/a`)
    expectRefused(/one link more than Linux follows/)
  })

  test.each(['#!', '#!/usr/bin/env '])('that is a script has an interpreter, too: %s', (before) => {
    const { directory, shell, name, look, expectRefused } = begin()
    renameSync(shell, join(directory, 'real'))
    writeFileSync(shell, `#!${join(directory, 'real')}\n`, { mode: 0o755 })
    name(before + shell)
    expect(look()).toEqual(ready)
    chownSync(join(directory, 'real'), stranger, 0)
    expectRefused(/tool runs .*real belongs to user 12345/)
  })

  test('may be the last of five scripts', () => {
    const { tools, shell, name, look, expectRefused } = begin()
    let last = shell
    const add = (place: string) => {
      writeFileSync(join(tools, place), `#!${last}\n`, { mode: 0o755 })
      last = join(tools, place)
      name(`#!${last}`)
    }
    for (const place of '1234') add(place)
    expect(look()).toEqual(ready)
    add('5')
    expectRefused(/one more script than Linux follows/)
  })

  test('that env finds is the first in PATH, and nobody else can put one before it', () => {
    const { directory, tools, shell, look, expectRefused } = begin(() => '#!/usr/bin/env tool')
    const before = join(directory, 'before')
    const path = `${before}:${tools}`
    expect(look(path)).toEqual(ready)
    mkdirSync(before)
    expect(look(path)).toEqual(ready)
    chmodSync(before, 0o1777)
    expectRefused(/anybody may create .*before.tool/, path)
    chmodSync(before, 0o755)
    copyFileSync(shell, join(before, 'tool'))
    chownSync(join(before, 'tool'), stranger, 0)
    expectRefused(/before.tool belongs to user 12345/, path)
    expectRefused(/needs tool, which is in no folder of PATH/, before.replace('before', 'hooks'))
  })

  test('that env finds can be executed: it skips what cannot', () => {
    const { directory, tools, look, expectRefused } = begin(() => '#!/usr/bin/env tool')
    const before = join(directory, 'before')
    mkdirSync(join(before, 'tool'), { recursive: true })
    const path = `${before}:/bin/sh:${tools}`
    expect(look(path)).toEqual(ready)
    chownSync(tools, stranger, 0)
    expectRefused(/tools belongs to user 12345/, path)
  })

  test.each([
    '#!/bin/bash --rcfile /dev/null',
    '#!/usr/bin/env -S LC_ALL=C TZ=UTC sh -eu',
    '#!/usr/bin/env sh',
    '#!\t/bin/sh\t-e ',
  ])('of root is ready: %s', (line) => {
    expect(begin(() => line).look('/usr/bin:/bin')).toEqual(ready)
  })

  test('is found under its own letters', () => {
    const { tools, shell, name, look } = begin()
    copyFileSync(shell, join(tools, 'té'))
    name(`#!${tools}/té`)
    expect(look()).toEqual(ready)
  })

  test.each([
    ['#!/usr/bin/env -S -u HOME tool', /env with more than a name: name the program itself/],
    ['#!/usr/bin/env tool -e', /Linux passes as one: write env -S/],
    ['#!/usr/bin/env -S BASH_ENV=/home/dev/rc tool', /env with more than a name/],
    ['#!/usr/bin/env -S LANG=C\\_/home/dev/tool tool', /env with more than a name/],
    ['#!/usr/bin/env -S env tool', /env with more than a name/],
    ['#!/bin/sh tmp/none-of-this-name', /anybody may create \/tmp\/none-of-this-name/],
    ['#!/usr', /needs \/usr, which cannot be executed/],
    ['#!/usr/bin/env -S PATH=/home/dev tool', /env with more than a name/],
    ['#!/usr/bin/env -S "tool"', /env with more than a name/],
    ['#!/usr/bin/env', /env with more than a name/],
    ['#!tool', /runs tool: write its whole path/],
    ['#!/usr/bin/env ./tool', /runs .\/tool: write its whole path/],
    ['#!/usr/bin/env /opt/none/tool', /needs \/opt\/none\/tool, which does not exist/],
    ['#!/bin/sh /tmp/none-of-this-name', /anybody may create \/tmp\/none-of-this-name/],
  ])('that the runner cannot tell is refused: %s', (line, note) => {
    begin(() => line).expectRefused(note)
  })

  test('is looked at again before it starts', async () => {
    const { folder, shell } = begin()
    const log = createLog({ write() {}, now: () => 0, level: 'debug' })
    const work = programsIn(folder, {}, log)
    expect(work.presence('prepare')).toEqual(ready)
    chownSync(shell, stranger, 0)
    const order = { hook: 'prepare', event: {} } as Parameters<typeof work.run>[0]
    const never = new AbortController().signal
    expect(await work.run(order, never, never, () => {})).toMatchObject({ state: 'refused' })
  })
})
