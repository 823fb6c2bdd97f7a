// Hooks of a Kubernetes node. `prepare` cordons the node and moves its pods, within their disruption
// budgets. `restore` uncordons a node that Foghorn cordoned.
import type { ScheduledEvent } from '../../shared/document.ts'
import type { Log } from '../../shared/log.ts'
import { maxHookNote } from '../../shared/report.ts'
import { cut } from '../../shared/text.ts'
import type { Clock } from '../clock.ts'
import type { Order } from '../hooks/protocol.ts'
import type { Outcome, Say, Work } from '../hooks/runner.ts'
import type { KubernetesApi } from './api.ts'
import { conditionPatch, nodeEvent, preparedEvent } from './objects.ts'
import {
  chooseReason,
  type DrainSettings,
  failedPass,
  letPods,
  type Pass,
  prepareOnce,
  restoreOnce,
  workloadsOn,
} from './passes.ts'

const passMs = 2_000
/** The drain ends this long before its limit, so that the runner can say how it ended. */
const marginMs = 1_000
/** The drain looks at an idle node again at a random time in the second half of this interval. */
const lookMs = 5 * 60_000
/** While the API server refuses or does not answer, the drain looks again after this time. */
const retryMs = 15_000

interface DrainParts {
  api: KubernetesApi
  settings: DrainSettings
  clock: Clock
  /** Returns a number in [0, 1). */
  random: () => number
  log: Log
}

export class NodeDrain implements Work {
  readonly #parts: DrainParts
  /** Why hooks would not work now. */
  #trouble: string | undefined
  #prepared: ScheduledEvent | undefined
  #workloads: string[] | undefined
  #looks = 0
  /** Notes are written one after another. */
  #notes: Promise<unknown> = Promise.resolve()

  constructor(parts: DrainParts) {
    this.#parts = parts
  }

  presence(): ReturnType<Work['presence']> {
    if (this.#trouble === undefined) return { state: 'ready' }
    return { state: 'refused', note: cut(this.#trouble, maxHookNote) }
  }

  about(): ReturnType<Work['about']> {
    return {
      node: this.#parts.api.nodeName,
      ...(this.#workloads && { workloads: this.#workloads }),
      prepared: this.#prepared === undefined ? [] : [this.#prepared],
    }
  }

  /** Looks whether the API server lets this node be drained, until `stop` aborts. */
  async watch(stop: AbortSignal): Promise<void> {
    const { clock, log, random } = this.#parts
    while (!stop.aborted) {
      try {
        await this.#look()
        if (this.#trouble !== undefined) log.info('kubernetes_reached')
        this.#trouble = undefined
      } catch (error) {
        const reason = chooseReason(error)
        if (!stop.aborted && reason !== this.#trouble) log.error('kubernetes_failed', { reason })
        this.#trouble = reason
      }
      const isWell = this.#trouble === undefined
      await clock.sleep(isWell ? (lookMs * (1 + random())) / 2 : retryMs, stop)
    }
  }

  async #look(): Promise<void> {
    const { api, settings } = this.#parts
    this.#looks += 1
    const own = this.#looks
    const node = await api.node()
    // in a conflict, the next look or the next pass does it
    await letPods(api, node)
    const workloads = await workloadsOn(api, settings, node)
    // a later one may have been faster
    if (own !== this.#looks) return
    this.#workloads = workloads
    this.#prepared = preparedEvent(node)
  }

  async run(
    order: Order,
    stop: AbortSignal,
    over: AbortSignal,
    say: Say,
  ): Promise<Outcome | undefined> {
    const { api, clock, settings } = this.#parts
    const until = clock.monotonic() + order.limitMs - Math.min(marginMs, order.limitMs / 10)
    const leftMs = () => (stop.aborted || over.aborted ? 0 : Math.max(0, until - clock.monotonic()))
    // a request may hang for longer than there is time
    const late = this.#pause(leftMs(), stop)
    let last: Pass = { kind: 'again', note: 'not done: the API server did not answer' }
    while (leftMs() > 0) {
      const asked =
        order.hook === 'prepare' ? prepareOnce(api, settings, order, leftMs) : restoreOnce(api)
      const pass = await Promise.race([asked.catch((error) => failedPass(order, error)), late])
      if (pass === undefined) break
      last = pass
      say(pass.held === undefined ? undefined : cut(pass.held, maxHookNote))
      if (pass.isRecorded) await Promise.race([this.#recorded(order), late])
      if (pass.kind !== 'again') return this.#end(order, pass)
      if (!pass.isRecorded) await this.#pause(Math.min(passMs, leftMs()), stop)
    }
    return stop.aborted || over.aborted ? undefined : this.#end(order, last)
  }

  async #pause(ms: number, stop: AbortSignal): Promise<undefined> {
    await this.#parts.clock.sleep(ms, stop)
    return undefined
  }

  /** Looks at the node, for the reports that follow. */
  async #recorded(order: Order): Promise<void> {
    // if it fails, the watch says so
    await this.#look().catch(() => {})
    if (order.hook === 'restore') return
    this.#note('Draining', `moving the pods of this node for ${chooseTitle(order)}`)
  }

  #end(order: Order, { kind, note, isQuiet = false }: Pass): Outcome {
    const state = kind === 'succeeded' ? 'succeeded' : 'failed'
    const reason = endReasons[order.hook][state]
    if (!isQuiet) this.#note(reason, `${note} (${chooseTitle(order)})`)
    return { state, note: cut(note, maxHookNote) }
  }

  /** Says on the node what is going on. It is for people only, so it may fail, and nothing waits for it. */
  #note(reason: Reason, message: string): void {
    const { api, clock, log } = this.#parts
    const now = clock.now()
    const isWarning = reason === 'NotDrained' || reason === 'NotRestored'
    const write = async () => {
      await api.writeEvent(nodeEvent(api.nodeName, { reason, message, isWarning }, now))
      const node = await api.node()
      const isOn = preparedEvent(node) !== undefined
      await api.patchStatus(conditionPatch(node, { isOn, reason, message }, now))
    }
    const failed = (error: unknown) =>
      log.warn('kubernetes_note_failed', { reason: chooseReason(error) })
    this.#notes = this.#notes.then(write).catch(failed)
  }
}

/** The reasons in the condition and in the events of the node. */
const endReasons = {
  prepare: { succeeded: 'Drained', failed: 'NotDrained' },
  restore: { succeeded: 'Restored', failed: 'NotRestored' },
} as const
type Reason = 'Draining' | (typeof endReasons)['prepare' | 'restore']['succeeded' | 'failed']

function chooseTitle({ event }: Order): string {
  return `${event.eventType}, event ${event.eventId}`
}
