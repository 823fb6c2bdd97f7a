// Whose folder a program works in. Root must not work where others can write: they may leave links there at any time.

const root = 0
/** Bits of a mode. */
const groupWrites = 0o020
const everyoneWrites = 0o002
const sticky = 0o1000
/** Links in one path. A link may lead to itself. */
const maxLinks = 40

/** Why root, if this process is root's, must not work in the folder. It need not exist yet. */
export function whyForeign(folder: string): string | undefined {
  const { existsSync, realpathSync, statSync } = process.getBuiltinModule('node:fs')
  if (process.getuid?.() !== root) return undefined
  const { resolve } = process.getBuiltinModule('node:path')
  const named = resolve(folder)
  if (existsSync(folder)) {
    const { uid } = statSync(folder)
    if (uid !== root) return `belongs to user ${uid}`
    if (canOthersWrite(folder) || !isBelowRootAlone(realpathSync(folder)))
      return 'can be written by others'
  }
  return isBelowRootAlone(named) ? undefined : 'lies in a folder that others can write to'
}

/** Whether others can write to a folder of root's. */
export function canOthersWrite(folder: string): boolean {
  return isWritable(process.getBuiltinModule('node:fs').statSync(folder))
}

/** The group of root is root's own. */
function isWritable({ mode, gid }: { mode: number; gid: number }): boolean {
  return (mode & (gid === root ? everyoneWrites : everyoneWrites | groupWrites)) !== 0
}

/** Nobody else can put anything in the place of the folder, or beside it, nor of what links in its path lead to. */
export function isBelowRootAlone(folder: string, links = 0): boolean {
  const { lstatSync, readlinkSync, realpathSync, statSync } = process.getBuiltinModule('node:fs')
  const { dirname, resolve } = process.getBuiltinModule('node:path')
  const above = dirname(folder)
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (
    found?.isSymbolicLink() &&
    (links > maxLinks ||
      !isBelowRootAlone(resolve(realpathSync(above), readlinkSync(folder)), links + 1))
  ) {
    return false
  }
  const holder = statSync(above, { throwIfNoEntry: false })
  const isOfRoot =
    holder === undefined ||
    (holder.uid === root && (!isWritable(holder) || isKept(folder, holder.mode)))
  return isOfRoot && (above === folder || isBelowRootAlone(above, links))
}

/** In a folder like /tmp, anybody may make a link, but nobody else may replace what is root's. */
function isKept(entry: string, modeAbove: number): boolean {
  if ((modeAbove & sticky) === 0) return false
  const found = process.getBuiltinModule('node:fs').lstatSync(entry, { throwIfNoEntry: false })
  return found?.uid === root && !found.isSymbolicLink()
}
