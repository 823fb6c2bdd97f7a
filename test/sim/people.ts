// People who get messages and may press a button: at once, late, both at the same time, or never.
import type { Claimed } from '../../functions/core/delivery.ts'
import type { Part } from '../../functions/notify/notifier.ts'
import type { Sent } from '../support/world.ts'
import { adminKey } from '../support/world.ts'
import type { Judge } from './judge.ts'
import type { Kernel } from './kernel.ts'
import type { Plan } from './plan.ts'
import type { Random } from './random.ts'
import { type Cluster, drillPath, replayPath } from './workers.ts'

export class People {
  readonly #kernel: Kernel
  readonly #random: Random
  readonly #cluster: Cluster
  readonly #judge: Judge
  readonly #count: number

  constructor(parts: {
    kernel: Kernel
    random: Random
    cluster: Cluster
    judge: Judge
    count: number
    replayAfterMs: number[]
    drills: Plan['drills']
  }) {
    this.#kernel = parts.kernel
    this.#random = parts.random
    this.#cluster = parts.cluster
    this.#judge = parts.judge
    this.#count = parts.count
    for (const ms of parts.replayAfterMs) this.#kernel.after(ms, () => this.#replay())
    for (const drill of parts.drills) this.#kernel.after(drill.afterMs, () => this.#drill(drill))
  }

  /** A message arrived where people look. */
  read({ delivery: claimed, pageUrl }: Part, request: Sent): void {
    if (pageUrl === undefined || !request.body.includes(pageUrl)) return
    const path = new URL(pageUrl).pathname
    for (let person = 0; person < this.#count; person++) {
      if (!this.#random.chance(0.6)) continue
      const decision = this.#random.chance(0.7) ? 'approve' : 'not_now'
      const hasty = this.#random.chance(0.6)
      const ms = hasty ? 2_000 : this.#random.int(500, 60_000)
      this.#kernel.after(ms, () => this.#press(claimed, path, decision))
    }
  }

  /** An admin wants to see what failed once more. */
  #replay(): void {
    const since = new Date(0).toISOString()
    const headers = { authorization: `Bearer ${adminKey}` }
    const request = { path: replayPath, fleet: '', body: JSON.stringify({ since }), headers }
    this.#judge.note('an admin asks for what failed')
    this.#cluster.post(request, () => {})
  }

  /** An owner wants to see that all this works. */
  #drill({ id, wish }: Plan['drills'][number]): void {
    const request = { path: drillPath, fleet: '', body: JSON.stringify({ id, wish }) }
    this.#judge.note(`an admin asks for the drill ${id}`)
    this.#cluster.post(request, (reply) => this.#judge.answeredPerson(id, reply))
  }

  #press({ fleet, eventId }: Claimed, path: string, decision: 'approve' | 'not_now'): void {
    this.#judge.pressed(fleet, eventId, decision)
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const request = { path, fleet, body: `decision=${decision}`, headers }
    this.#cluster.post(request, (reply) => this.#judge.answeredPerson(eventId, reply))
  }
}
