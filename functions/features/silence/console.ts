import type { ReadAbsent } from '../../http/console/absent.ts'
import { readOpenProblems } from './needs.ts'

/** Reads what the relay's own checks have noted last. */
export const readSilence: ReadAbsent = async (relay, fleet, wants) => {
  const nothing: Awaited<ReturnType<typeof readOpenProblems>> = { problems: [], of: undefined }
  const [silent, missing] = await Promise.all([
    wants.silent ? readOpenProblems(relay, fleet, 'beacons_silent') : nothing,
    wants.missing ? readOpenProblems(relay, fleet, 'beacons_missing') : nothing,
  ])
  const joinNames = ({ problems }: typeof nothing) => problems.map(({ name }) => name)
  return {
    silent: joinNames(silent),
    missing: joinNames(missing),
    ...(missing.of === undefined ? {} : { expected: missing.of }),
  }
}
