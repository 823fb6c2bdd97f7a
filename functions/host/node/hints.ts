// Tells relays on the same database what this one has just committed, so that answers that they hold and streams that
// they feed go on at once. Only hints: each relay also looks by itself, so one that is lost costs a moment.
import * as z from 'zod'
import { parseJson } from '../../../shared/json.ts'
import type { CommitSignal, Holds } from '../../use-cases/relay.ts'
import type { HoldsHere } from '../holds.ts'

/** What comes meanwhile is told together. */
const gatherMs = 5
/** PostgreSQL takes texts of less than 8,000 bytes. An event's key has some hundred. */
const maxLength = 6_000

const toldSchema = z.object({
  /** The relay that tells. It does not listen to itself. */
  from: z.string(),
  /** Events whose beacons must hear more: fleet and id. Absent: there are too many to name. */
  events: z.array(z.tuple([z.string(), z.string()])).exactOptional(),
  /** People, or other systems, were told something. */
  moments: z.boolean(),
})
type Told = z.infer<typeof toldSchema>
type Key = NonNullable<Told['events']>[number]

/** The parts of a relay that wait for commits. Those that `share` returns also tell other relays. */
interface Waiting {
  holds: HoldsHere
  commitSignal: CommitSignal
}

export interface Hints {
  share(own: Waiting): { holds: Holds; commitSignal: CommitSignal }
}

export class SharedHints implements Hints {
  readonly #id: string
  readonly #tell: (text: string) => Promise<void>
  #own: Waiting | undefined
  #hears = false
  #events = new Map<string, Key>()
  #moments = false
  #timer: NodeJS.Timeout | undefined

  /** `id`: unlike that of any other relay. `tell` reaches all of them. */
  constructor(id: string, tell: (text: string) => Promise<void>) {
    this.#id = id
    this.#tell = tell
  }

  share(own: Waiting): { holds: Holds; commitSignal: CommitSignal } {
    this.#own = own
    const { holds, commitSignal } = own
    return {
      holds: {
        ...holds,
        // a relay that hears nothing would keep beacons waiting for news of the others
        hasRoom: (fleet, beacon) => this.#hears && holds.hasRoom(fleet, beacon),
        take: (...wish) => (this.#hears ? holds.take(...wish) : undefined),
        wake: (event) => {
          holds.wake(event)
          this.#events.set(`${event.fleet} ${event.eventId}`, [event.fleet, event.eventId])
          this.#soon()
        },
      },
      commitSignal: {
        get raised() {
          return commitSignal.raised
        },
        get isClosed() {
          return commitSignal.isClosed
        },
        next: commitSignal.next,
        close: commitSignal.close,
        raise: () => {
          commitSignal.raise()
          this.#moments = true
          this.#soon()
        },
      },
    }
  }

  /** What another relay told. Other programs may use the database's channel, too. */
  hear(text: string): void {
    const read = toldSchema.safeParse(parseJson(text))
    if (!read.success || read.data.from === this.#id || this.#own === undefined) return
    const { events, moments } = read.data
    const { holds, commitSignal } = this.#own
    if (events === undefined) holds.release()
    for (const [fleet, eventId] of events ?? []) holds.wake({ fleet, eventId })
    if (moments) commitSignal.raise()
  }

  /** Whether this relay hears the others. */
  setHearing(hears: boolean): void {
    this.#hears = hears
    if (!hears) this.#own?.holds.release()
    else this.#own?.commitSignal.raise()
  }

  /** Tells what is gathered, and nothing more. */
  async close(): Promise<void> {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    await this.#tellNow()
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.#tellNow()
    }, gatherMs).unref()
  }

  async #tellNow(): Promise<void> {
    const told: Told = { from: this.#id, moments: this.#moments }
    const whole = JSON.stringify({ ...told, events: [...this.#events.values()] } satisfies Told)
    this.#events.clear()
    this.#moments = false
    const text = Buffer.byteLength(whole) <= maxLength ? whole : JSON.stringify(told)
    // the others look by themselves
    await this.#tell(text).catch(() => {})
  }
}
