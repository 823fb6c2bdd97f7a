// Finds the programs of hooks, and refuses those that somebody else could have written: the runner
// may be root. Nobody but root and the runner's user may be able to replace the file or its folders.
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
} from 'node:fs'
import { dirname, join, parse, relative, resolve, sep } from 'node:path'
import { messageOf } from '../../shared/errors.ts'
import { type Hook, maxHookNote } from '../../shared/report.ts'
import { cut } from '../../shared/text.ts'
import type { Presence } from './protocol.ts'

interface Trust {
  platform: string
  /** Users who may own hooks. Not used on Windows. */
  users: readonly number[]
}

interface Found {
  file: string
  presence: Presence
}

const othersMayWrite = 0o022
const sticky = 0o1000
/** The first that exists is the hook. */
const windowsEndings = ['.exe', '.cmd', '.ps1']

/** Root and the user of this process. */
export function judgeOwner({
  platform,
  getuid,
}: Pick<NodeJS.Process, 'platform' | 'getuid'>): Trust {
  return { platform, users: [0, getuid?.() ?? 0] }
}

/** Reads the disk at each call, so a corrected file counts at once. */
export function findHook(folder: string, hook: Hook, trust: Trust): Found {
  const endings = trust.platform === 'win32' ? windowsEndings : ['']
  const files = endings.map((ending) => join(folder, `${hook}${ending}`))
  let file = files[0]!
  const refused = (note: string): Found => {
    return { file, presence: { state: 'refused', note: cut(note, maxHookNote) } }
  }
  try {
    const found = files.find((one) => lstatSync(one, { throwIfNoEntry: false }) !== undefined)
    if (found === undefined) return { file, presence: { state: 'absent' } }
    file = found
    const fault = findFault(folder, file, trust)
    return fault === undefined ? { file, presence: { state: 'ready' } } : refused(fault)
  } catch (error) {
    return refused(messageOf(error))
  }
}

function findFault(written: string, file: string, trust: Trust): string | undefined {
  const folder = resolve(written)
  const real = realpathSync(folder)
  const isSame =
    trust.platform === 'win32' ? real.toLowerCase() === folder.toLowerCase() : real === folder
  if (!isSame) return `${folder} leads to ${real} by a link: write ${real} in FOGHORN_HOOKS`
  const stats = lstatSync(file)
  if (!stats.isFile()) return `${file} is no regular file: copy the program itself there`
  if (trust.platform === 'win32') return undefined
  const places = [...foldersTo(folder), file]
  const fault = places.map((place) => ownerFault(place, folder, trust)).find(Boolean)
  return (
    fault ??
    executionFault(file) ??
    (trust.platform === 'linux' ? interpreterFault(file, trust) : undefined)
  )
}

/** `/`, `/etc`, `/etc/foghorn` … */
function foldersTo(path: string): string[] {
  const { root } = parse(path)
  const names = path.slice(root.length).split(sep).filter(Boolean)
  return [root, ...names.map((_, i) => join(root, ...names.slice(0, i + 1)))]
}

function ownerFault(path: string, folder: string, { users }: Trust): string | undefined {
  const { mode, uid } = lstatSync(path)
  if (!users.includes(uid)) {
    return `${path} belongs to user ${uid}, who could change the hook: run chown root ${path}`
  }
  // If a folder above is sticky, such as /tmp, nobody can replace what belongs to another.
  const isGuarded = folder.startsWith(path) && path !== folder && (mode & sticky) !== 0
  if ((mode & othersMayWrite) === 0 || isGuarded) return undefined
  return `others may write to ${path}: run chmod go-w ${path}`
}

/** `readFirstLine` reads a byte order mark as these characters. */
const byteOrderMark = '\xef\xbb\xbf'

/** The system says only that the file does not exist, if the interpreter does not. */
function interpreterFault(file: string, trust: Trust, depth = 0): string | undefined {
  const start = readFirstLine(file)
  const [first = ''] = start.split('\n')
  const interpreter = /^#!\s*(\S+)/.exec(first)?.[1]
  if (interpreter === undefined) {
    // compiled programs begin with bytes that no text has
    if (start === '' || start.includes('\0')) return undefined
    const fault = start.startsWith(byteOrderMark)
      ? 'begins with a byte order mark'
      : 'does not name its interpreter'
    return `${file} ${fault}: its first line must begin with #!, such as #!/bin/sh`
  }
  if (first.endsWith('\r')) {
    return `${file} has the line ends of Windows: run sed -i 's/\\r$//' ${file}`
  }
  if (!existsSync(interpreter)) {
    return `${file} needs ${interpreter}, which does not exist: correct its first line`
  }
  // `#!/usr/bin/env /opt/tools/python` names two
  const named = first
    .slice(2)
    .split(/\s+/)
    .filter((word) => word.startsWith('/'))
  for (const path of named) {
    const fault = programFault(path, trust)
    if (fault !== undefined) {
      return `${file} runs ${path}, but ${fault}: name a program of root in its first line`
    }
  }
  // the system starts an interpreter that is a script by its own first line
  const program = realpathSync(interpreter)
  const isScript = readFirstLine(program).startsWith('#!')
  return isScript && depth < maxScripts ? interpreterFault(program, trust, depth + 1) : undefined
}

/** Linux follows so many scripts that name each other. */
const maxScripts = 4
/** Linux follows so many links in a path. */
const maxLinks = 40
const anybodyMayWrite = 0o002

/** Who could change what the hook runs there: also by a link on the way. */
function programFault(path: string, { users }: Trust): string | undefined {
  for (const place of placesTo(path)) {
    const stats = lstatSync(place, { throwIfNoEntry: false })
    if (stats === undefined) return undefined
    if (!users.includes(stats.uid)) return `${place} belongs to user ${stats.uid}`
    const isOpen = (stats.mode & anybodyMayWrite) !== 0 && (stats.mode & sticky) === 0
    if (isOpen && !stats.isSymbolicLink()) return `anybody may write to ${place}`
  }
  return undefined
}

/** Each folder and link that leads to the file, and the file. */
function placesTo(path: string): string[] {
  const places: string[] = []
  let next: string | undefined = resolve(path)
  for (let links = 0; next !== undefined && links <= maxLinks; links++) {
    const steps = foldersTo(next)
    const link = steps.find((step) => lstatSync(step, { throwIfNoEntry: false })?.isSymbolicLink())
    places.push(...(link === undefined ? steps : steps.slice(0, steps.indexOf(link) + 1)))
    next = link && resolve(dirname(link), readlinkSync(link), relative(link, next))
  }
  return places
}

/** Enough for the first line: Linux reads 256 bytes of it. */
function readFirstLine(file: string): string {
  const start = Buffer.alloc(256)
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    return start.toString('latin1', 0, readSync(descriptor, start))
  } catch {
    // a compiled program need not be readable
    return ''
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

function executionFault(file: string): string | undefined {
  try {
    accessSync(file, constants.X_OK)
    return undefined
  } catch {
    return `${file} cannot be executed: run chmod 755 ${file}`
  }
}
