// Hooks of a Kubernetes node. `prepare` cordons the node and moves its pods, within their disruption
// budgets. `restore` uncordons a node that Foghorn cordoned. Each pass starts from what the API server
// shows and remembers nothing, so a drain that was interrupted goes on.
import { cut, isSameName, type ScheduledEvent } from '../../shared/document.ts'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { maxHookNote } from '../../shared/report.ts'
import type { Clock } from '../clock.ts'
import type { Order } from '../hooks/protocol.ts'
import type { Outcome, Work } from '../hooks/runner.ts'
import type { Evicted, KubernetesApi } from './api.ts'
import {
  conditionPatch,
  cordonPatch,
  fateOf,
  hasLabel,
  isCordonedByUs,
  isUncordoned,
  type Node,
  nameOf,
  nodeEvent,
  type Pod,
  preparedEvent,
  recordedWorkloads,
  uncordonPatch,
  vmNameOf,
  workloadsOf,
} from './objects.ts'

const passMs = 2_000
/** Before the limit, so that the runner can say how it ended. */
const marginMs = 1_000
const evictionsAtOnce = 10
/** Of a node that nothing happens to. */
const lookMs = 5 * 60_000
/** While the API server refuses or does not answer. */
const retryMs = 15_000

export interface DrainSettings {
  /** A shorter Freeze moves no pod. */
  freezeMs: number
  /** Only these pods. Empty: all. */
  selector: string
  /** In place of each pod's own. */
  graceSeconds: number | undefined
  /** `delete` asks no disruption budget. */
  by: 'evict' | 'delete'
  /** Also pods that no controller would start again elsewhere. */
  movesBare: boolean
  /** While the node has it, nothing is done. Empty: none. */
  pauseLabel: string
}

interface DrainParts {
  api: KubernetesApi
  settings: DrainSettings
  clock: Clock
  log: Log
}

export class NodeDrain implements Work {
  readonly #parts: DrainParts
  /** Why hooks would not work now. */
  #trouble: string | undefined
  #prepared: ScheduledEvent | undefined
  #workloads: string[] | undefined

  constructor(parts: DrainParts) {
    this.#parts = parts
  }

  presence(): ReturnType<Work['presence']> {
    if (this.#trouble === undefined) return { state: 'ready' }
    return { state: 'refused', note: cut(this.#trouble, maxHookNote) }
  }

  about(): ReturnType<NonNullable<Work['about']>> {
    return {
      ...(this.#prepared && { prepared: [this.#prepared] }),
      ...(this.#workloads && { workloads: this.#workloads }),
    }
  }

  /** Looks whether the API server lets this node be drained, until `stop` aborts. */
  async watch(stop: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts
    while (!stop.aborted) {
      try {
        await this.#look()
        if (this.#trouble !== undefined) log.info('kubernetes_reached')
        this.#trouble = undefined
      } catch (error) {
        const reason = reasonOf(error)
        if (!stop.aborted && reason !== this.#trouble) log.error('kubernetes_failed', { reason })
        this.#trouble = reason
      }
      await clock.sleep(this.#trouble === undefined ? lookMs : retryMs, stop)
    }
  }

  async #look(): Promise<void> {
    const node = await this.#parts.api.node()
    this.#workloads = await this.#workloadsOf(node)
    this.#prepared = preparedEvent(node)
  }

  /** Of a drained node, those that it ran before. */
  async #workloadsOf(node: Node): Promise<string[]> {
    const { api, settings } = this.#parts
    return recordedWorkloads(node) ?? workloadsOf(await api.pods(settings.selector))
  }

  async run(order: Order, stop: AbortSignal): Promise<Outcome | undefined> {
    const { clock } = this.#parts
    const until = clock.monotonic() + order.limitMs - Math.min(marginMs, order.limitMs / 10)
    const pass = (leftMs: number) =>
      order.hook === 'prepare' ? this.#prepareOnce(order, leftMs) : this.#restoreOnce()
    let last: Pass = { kind: 'again', note: 'not done: the API server was not asked' }
    while (!stop.aborted) {
      const leftMs = until - clock.monotonic()
      if (leftMs <= 0) return this.#end(order, last)
      last = await pass(leftMs).catch(failedPass)
      if (last.kind !== 'again') return this.#end(order, last)
      await clock.sleep(Math.min(passMs, Math.max(0, until - clock.monotonic())), stop)
    }
    return undefined
  }

  async #prepareOnce(order: Order, leftMs: number): Promise<Pass> {
    const { api, settings } = this.#parts
    const { event, vm } = order
    if (isShortFreeze(event, settings.freezeMs)) {
      const least = `${settings.freezeMs / 1000} s`
      const note = `not drained, as a Freeze of less than ${least} moves nothing`
      return { kind: 'succeeded', note, isQuiet: true }
    }
    const node = await api.node()
    const refusal = this.#whyNot(node, vm)
    if (refusal !== undefined) return { kind: 'failed', note: refusal }
    const { pauseLabel } = settings
    if (pauseLabel !== '' && hasLabel(node, pauseLabel)) {
      return { kind: 'again', note: `not drained: the node has the label ${pauseLabel}` }
    }
    const isOnRecord = preparedEvent(node)?.eventId === event.eventId
    if (isOnRecord && isUncordoned(node)) {
      return { kind: 'failed', note: 'not drained: somebody uncordoned the node' }
    }
    if (!isOnRecord && !(await this.#cordon(node, order))) return changedMeanwhile
    const pods = await api.pods(settings.selector)
    const bare = pods.filter((pod) => fateOf(pod) === 'bare')
    const toMove = pods.filter((pod) => fateOf(pod) === 'moves')
    if (settings.movesBare) toMove.push(...bare)
    if (toMove.length > 0) {
      return { kind: 'again', note: leftNote(await this.#move(toMove, leftMs)) }
    }
    const kept = settings.movesBare ? [] : bare.map(nameOf)
    const why = '; left there, as no controller would start it again: '
    return { kind: 'succeeded', note: `drained${kept.length > 0 ? why + kept.join(', ') : ''}` }
  }

  #whyNot(node: Node, vm: string): string | undefined {
    const own = vmNameOf(node)
    if (own === undefined || isSameName(own, vm)) return undefined
    return `not drained: node ${node.metadata.name} is the VM ${own}, and the event is of ${vm}`
  }

  /** False if the node has changed meanwhile. */
  async #cordon(node: Node, order: Order): Promise<boolean> {
    // with a thousand names it would not fit onto the node
    const event = { ...order.event, resources: [order.vm] }
    const workloads = await this.#workloadsOf(node)
    const patch = cordonPatch(node, event, workloads)
    if ((await this.#parts.api.patchNode(patch)) === 'conflict') return false
    this.#prepared = event
    this.#workloads = workloads
    await this.#note('Draining', `moving the pods of this node for ${titleOf(order)}`)
    return true
  }

  /** The pods that are still there, and why. */
  async #move(pods: Pod[], leftMs: number): Promise<[string, string][]> {
    const left: [string, string][] = []
    for (let first = 0; first < pods.length; first += evictionsAtOnce) {
      const some = pods.slice(first, first + evictionsAtOnce)
      const whys = await Promise.all(some.map((pod) => this.#moveOne(pod, leftMs)))
      some.forEach((pod, i) => {
        left.push([nameOf(pod), whys[i]!])
      })
    }
    return left
  }

  async #moveOne(pod: Pod, leftMs: number): Promise<string> {
    const { api, settings } = this.#parts
    if (pod.metadata.deletionTimestamp !== undefined) return 'still ending'
    const own = settings.graceSeconds ?? pod.spec.terminationGracePeriodSeconds
    const left = Math.max(1, Math.floor(leftMs / 1000))
    // no longer than what is left: then the VM itself ends the pod
    const grace = own !== undefined && own <= left ? settings.graceSeconds : left
    return reasons[await api[settings.by === 'evict' ? 'evict' : 'remove'](pod, grace)]
  }

  async #restoreOnce(): Promise<Pass> {
    const { api } = this.#parts
    const node = await api.node()
    if (preparedEvent(node) === undefined) {
      return { kind: 'succeeded', note: 'nothing to undo', isQuiet: true }
    }
    if ((await api.patchNode(uncordonPatch(node))) === 'conflict') return changedMeanwhile
    this.#prepared = undefined
    if (isUncordoned(node)) return { kind: 'succeeded', note: 'somebody had uncordoned the node' }
    if (isCordonedByUs(node)) return { kind: 'succeeded', note: 'uncordoned' }
    return { kind: 'succeeded', note: 'still cordoned, as somebody else had cordoned the node' }
  }

  async #end(order: Order, { kind, note, isQuiet = false }: Pass): Promise<Outcome> {
    const state = kind === 'succeeded' ? 'succeeded' : 'failed'
    const message = `${note} (${titleOf(order)})`
    if (!isQuiet) await this.#note(endReasons[order.hook][state], message)
    return { state, note: cut(note, maxHookNote) }
  }

  /** Says on the node what is going on. It is for people only, so it may fail. */
  async #note(reason: Reason, message: string): Promise<void> {
    const { api, clock, log } = this.#parts
    const now = clock.now()
    const isOn = reason !== 'Restored'
    const isWarning = reason === 'NotDrained' || reason === 'NotRestored'
    try {
      await api.writeEvent(nodeEvent(api.nodeName, { reason, message, isWarning }, now))
      await api.patchStatus(conditionPatch(isOn, reason, message, now))
    } catch (error) {
      log.warn('kubernetes_note_failed', { reason: reasonOf(error) })
    }
  }
}

interface Pass {
  kind: 'succeeded' | 'failed' | 'again'
  note: string
  /** Nothing was done, so the node says nothing of it. */
  isQuiet?: boolean
}

const changedMeanwhile: Pass = { kind: 'again', note: 'not done: the node changed meanwhile' }

/** A missing right does not come back by itself. */
function failedPass(error: unknown): Pass {
  const isFinal = error instanceof FoghornError && error.code === 'kubernetes_forbidden'
  return { kind: isFinal ? 'failed' : 'again', note: `not done: ${reasonOf(error)}` }
}

function reasonOf(error: unknown): string {
  return error instanceof FoghornError ? error.message : messageOf(error)
}

/** Why a pod is still there after it was asked to go. */
const reasons: Record<Evicted, string> = {
  accepted: 'still ending',
  gone: 'still ending',
  forbidden: 'disruption budget',
  split: 'two disruption budgets',
}

/** Of the condition and the events of the node. */
const endReasons = {
  prepare: { succeeded: 'Drained', failed: 'NotDrained' },
  restore: { succeeded: 'Restored', failed: 'NotRestored' },
} as const
type Reason = 'Draining' | (typeof endReasons)['prepare' | 'restore']['succeeded' | 'failed']

function titleOf({ event }: Order): string {
  return `${event.eventType}, event ${event.eventId}`
}

/** An unknown length counts as short: Azure's usual Freeze lasts seconds. */
function isShortFreeze({ eventType, durationSeconds = -1 }: ScheduledEvent, freezeMs: number) {
  return isSameName(eventType, 'Freeze') && durationSeconds * 1000 < freezeMs
}

function leftNote(left: [string, string][]): string {
  const most = 200
  const named: string[] = []
  for (const [name, why] of left) {
    const text = `${name} (${why})`
    if (named.join(', ').length + text.length > most) break
    named.push(text)
  }
  const others = left.length - named.length
  return `not drained: ${[...named, ...(others > 0 ? [`${others} more`] : [])].join(', ')}`
}
