// Whose folder a program works in. Root must not work in one of another user, who may leave links there at any time.

/** The number of the user whom the folder belongs to, if this process is root's and the folder is not. */
export function findForeignOwner(folder: string): number | undefined {
  const { existsSync, statSync } = process.getBuiltinModule('node:fs')
  if (process.getuid?.() !== 0 || !existsSync(folder)) return undefined
  const { uid } = statSync(folder)
  return uid === 0 ? undefined : uid
}
