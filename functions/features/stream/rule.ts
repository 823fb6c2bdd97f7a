// How many streams and long polls one process holds, and for whom. A stream of a token that is bound to
// fleets counts for each of them, so a token with several fleets gets no additional share.
import { type Access, isBound } from '../../core/rules/access.ts'

/** Streams in one process. */
const maxStreams = 100
/** Streams of tokens. The rest is reserved for the admin key. */
const maxTokenStreams = 80
/** Streams of tokens that are bound to this fleet, alone or with others. */
const maxStreamsOfFleet = 20

interface StreamShares {
  /** Opens a stream, or says which limit is reached. Each stream must be closed once. */
  open(access: Access): { close(): void } | { refusal: string }
}

export function createStreamShares(): StreamShares {
  const open = new Set<{ access: Access }>()
  const countStreams = (counts: (access: Access) => boolean) =>
    [...open].filter(({ access }) => counts(access)).length
  const describeStreamRefusal = (access: Access): string | undefined => {
    if (open.size >= maxStreams) return `${maxStreams} streams are open`
    if (access.by === 'admin') return undefined
    const full = isBound(access)
      ? access.fleets.find((fleet) => countStreams((one) => isFor(one, fleet)) >= maxStreamsOfFleet)
      : undefined
    if (full !== undefined) {
      return `${maxStreamsOfFleet} streams of tokens for fleet "${full}" are open`
    }
    const isFull = countStreams(({ by }) => by !== 'admin') >= maxTokenStreams
    return isFull ? `${maxTokenStreams} streams of tokens are open` : undefined
  }
  return {
    open(access) {
      const refusal = describeStreamRefusal(access)
      if (refusal !== undefined) return { refusal }
      const stream = { access }
      open.add(stream)
      return { close: () => open.delete(stream) }
    },
  }
}

function isFor(access: Access, fleet: string): boolean {
  return isBound(access) && access.fleets.includes(fleet)
}
