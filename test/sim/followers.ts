// Readers of the log of moments, as other systems are: two processes that read page by page, crash,
// and go on from the last page they kept. At the end each must have read every moment once.
import type { MomentEntry } from '../../functions/core/delivery/moment-log.ts'
import type { Store } from '../../functions/store/store.ts'
import type { Docket } from './docket.ts'
import type { Faults } from './faults.ts'
import { type Kernel, Process } from './kernel.ts'
import type { Random } from './random.ts'

const longestWaitMs = 60_000
const pageSize = 5
const manyMoments = 100_000

/** What a store's view of a process needs of it. */
export interface Caller {
  process: Process
  /** Waits as a call does, and may die there. */
  step(weight?: number): Promise<void>
  chance(): number
  losesAnswer(): boolean
}

interface FollowerParts {
  kernel: Kernel
  faults: Faults
  judge: { moments: MomentBook }
  random: Random
  calmAt: number
  store: (caller: Caller) => Store
}

export class Follower implements Caller {
  readonly process: Process
  readonly #parts: FollowerParts
  readonly #random: Random
  readonly #store: Store
  #position = 0

  constructor(name: string, parts: FollowerParts) {
    this.process = new Process(name)
    this.#parts = parts
    this.#random = parts.random.fork(name)
    this.#store = parts.store(this)
    this.#sleep()
  }

  chance(): number {
    return this.#random.next()
  }

  losesAnswer(): boolean {
    return this.#isTroubled() && this.#random.chance(this.#parts.faults.store_slow / 4)
  }

  async step(weight = 1): Promise<void> {
    const { kernel, faults } = this.#parts
    await kernel.pause(this.process, this.#random.int(0, 4))
    const isDeadly = this.#random.chance((faults.relay_crashes / 2) * weight)
    if (isDeadly && this.#isTroubled()) await this.#crash()
  }

  #isTroubled(): boolean {
    return this.#parts.kernel.now < this.#parts.calmAt
  }

  #sleep(): void {
    const { kernel } = this.#parts
    const waitMs = this.#random.int(0, longestWaitMs)
    kernel.after(waitMs, () => kernel.spawn(this.process, () => this.#read()), this.process)
  }

  async #read(): Promise<void> {
    const { kernel, judge } = this.#parts
    const moments = await this.#store.readMoments(this.#position, pageSize, kernel.now)
    judge.moments.read(this.process.name, moments)
    this.#position = moments.at(-1)?.position ?? this.#position
    // the world ends when nothing happens any more
    if (this.#isTroubled() || moments.length > 0) this.#sleep()
  }

  async #crash(): Promise<never> {
    const { kernel } = this.#parts
    const { process } = this
    const dead = kernel.never(process)
    process.kill()
    kernel.after(1_000, () => {
      process.revive(kernel.now)
      this.#sleep()
    })
    return dead
  }
}

/** The book of moments: each is logged once, in one order for all, and in the order of its event. */
export class MomentBook {
  readonly #docket: Docket
  readonly #committed = new Set<string>()
  readonly #seen = new Map<string, string[]>()
  readonly #lastPosition = new Map<string, number>()
  readonly #twice: string[] = []

  constructor(docket: Docket) {
    this.#docket = docket
  }

  committed(moments: MomentEntry[]): void {
    for (const { id } of moments) this.#committed.add(id)
  }

  read(follower: string, moments: { id: string; position: number }[]): void {
    const seen = this.#seen.get(follower) ?? []
    this.#seen.set(follower, seen)
    for (const { id, position } of moments) {
      if (!this.#committed.has(id)) this.#broke(`${follower} reads ${id}, which nobody committed`)
      if (seen.includes(id)) this.#twice.push(`${follower} reads ${id} twice`)
      if (position <= (this.#lastPosition.get(follower) ?? 0)) {
        this.#broke(`${follower} reads position ${position} late`)
      }
      this.#lastPosition.set(follower, position)
      seen.push(id)
    }
  }

  async checkEnd(store: Store): Promise<void> {
    // on Azure, the last ones appear 5 s late
    const logged = await store.readMoments(0, manyMoments, this.#docket.now + 10_000)
    const ids = logged.map(({ id }) => id)
    const lost = [...this.#committed].filter((id) => !ids.includes(id))
    if (lost.length > 0) this.#broke(`${lost.join(', ')} is not in the log`)
    for (const [follower, seen] of this.#seen) {
      const last = this.#lastPosition.get(follower) ?? 0
      const passed = logged.filter(({ position }) => position <= last)
      const missed = passed.find(({ id }) => !seen.includes(id))
      if (missed) this.#broke(`${follower} never reads ${missed.id}`)
      const other = seen.findIndex((id, i) => id !== ids[i])
      if (other >= 0)
        this.#broke(`${follower} reads ${seen[other]} where the log has ${ids[other]}`)
    }
    for (const text of this.#twice) this.#broke(text)
    const sequences = new Map<string, number>()
    for (const { id, notification } of logged) {
      const { fleet, eventId, sequence } = notification.event
      const key = `${fleet}/${eventId}`
      if (sequence < (sequences.get(key) ?? 0)) this.#broke(`${id} is logged late`)
      sequences.set(key, sequence)
    }
  }

  #broke(text: string): void {
    this.#docket.broke('moments', text)
  }
}
