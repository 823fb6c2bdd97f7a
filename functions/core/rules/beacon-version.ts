// Which beacons a relay supports. docs/operate.md has the promise: those of its own and of the
// previous minor version; from 1.0 on, those of its own major version and of the one before.

/**
 * The oldest and the newest. Change them with each release, by that promise. For each released
 * version in between, test/recorded has reports that stay acceptable.
 */
export const supportedBeacons = { oldest: '0.1.0', newest: '0.1.0' }

/** Why the relay does not support beacons of this version. Undefined if it does. */
export function unsupported(
  version: string,
  { oldest, newest } = supportedBeacons,
): string | undefined {
  const parts = splitVersion(version)
  if (parts === undefined) return 'is not a released version'
  if (compare(parts, splitVersion(oldest)!) < 0)
    return `is older than ${oldest}: upgrade the beacon`
  if (compare(parts, splitVersion(newest)!) > 0) return `is newer than ${newest}: upgrade the relay`
  return undefined
}

/** Major, minor and patch. Undefined if the text is no such version. */
function splitVersion(version: string): number[] | undefined {
  const found = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})$/.exec(version)
  return found === null ? undefined : found.slice(1).map(Number)
}

function compare(one: number[], other: number[]): number {
  const i = one.findIndex((part, at) => part !== other[at])
  return i === -1 ? 0 : one[i]! - other[i]!
}
