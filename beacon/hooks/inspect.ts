// Finds the programs of hooks, and refuses those that somebody else could have written: the runner
// may be root. Nobody but root and the runner's user may be able to replace the file or its folders.
import { accessSync, constants, lstatSync, realpathSync } from 'node:fs'
import { join, parse, resolve, sep } from 'node:path'
import { messageOf } from '../../shared/errors.ts'
import { type Hook, maxHookNote } from '../../shared/report.ts'
import { cut } from '../../shared/text.ts'
import { usualPath } from './event.ts'
import { interpreterFault } from './interpreter.ts'
import type { Presence } from './protocol.ts'

interface Trust {
  platform: string
  /** Users who may own hooks. Not used on Windows. */
  users: readonly number[]
  /** Where a hook's `env` looks for programs. Not used on Windows. */
  path: string
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
  env,
}: Pick<NodeJS.Process, 'platform' | 'getuid' | 'env'>): Trust {
  return { platform, users: [0, getuid?.() ?? 0], path: env.PATH ?? usualPath }
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

function executionFault(file: string): string | undefined {
  try {
    accessSync(file, constants.X_OK)
    return undefined
  } catch {
    return `${file} cannot be executed: run chmod 755 ${file}`
  }
}
