// One pass of a drain, and of its undoing. A pass starts from what the API server shows and remembers
// nothing, so it can be repeated after anything that went wrong, also after a restart.
import { isSameName, type ScheduledEvent } from '../../shared/document.ts'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import type { Order } from '../hooks/protocol.ts'
import type { KubernetesApi } from './api.ts'
import {
  cordonPatch,
  describePod,
  hasLabel,
  isCordoned,
  isCordonedByUs,
  isUncordoned,
  judgePod,
  listWorkloads,
  type Node,
  type Pod,
  preparedEvent,
  readVmName,
  recordedWorkloads,
  uncordonPatch,
  untaintPatch,
} from './objects.ts'

const evictionsAtOnce = 10
/** Characters of the pods' names in one note. */
const maxNamed = 200

export interface DrainSettings {
  /** A shorter Freeze moves no pod. */
  freezeMs: number
  /** The drain moves only these pods. Empty: all. */
  selector: string
  /** The grace period of every pod. Undefined: each pod has its own. */
  graceSeconds: number | undefined
  /** `delete` asks no disruption budget. */
  by: 'evict' | 'delete'
  /** Whether the drain also moves pods that no controller would start again elsewhere. */
  movesBare: boolean
  /** `KEY` or `KEY=VALUE`. While the node has it, nothing is done. */
  pauseLabel: string
}

export interface Pass {
  kind: 'succeeded' | 'failed' | 'again'
  note: string
  /** What holds the drain up, if it is more than pods that are ending. */
  held?: string
  /** What the node has on record is new. */
  isRecorded?: boolean
  /** Nothing was done, so the node says nothing of it. */
  isQuiet?: boolean
}

const tooLate: Pass = { kind: 'again', note: 'not done: there was too little time' }
const changedMeanwhile: Pass = { kind: 'again', note: 'not done: the node changed meanwhile' }

/** A missing right to read or to cordon does not come back by itself. */
export function failedPass({ hook }: Order, error: unknown): Pass {
  const isFinal = error instanceof FoghornError && error.code === 'kubernetes_forbidden'
  const kind = isFinal && hook === 'prepare' ? 'failed' : 'again'
  return { kind, note: `not done: ${chooseReason(error)}` }
}

/** The reason for people, without the code. */
export function chooseReason(error: unknown): string {
  return error instanceof FoghornError ? error.message : messageOf(error)
}

/** An unknown length counts as short: Azure's usual Freeze lasts seconds. */
function isShortFreeze({ eventType, durationSeconds = -1 }: ScheduledEvent, freezeMs: number) {
  return isSameName(eventType, 'Freeze') && durationSeconds * 1000 < freezeMs
}

/** Throws what `api` throws. Does nothing more once `leftMs` gives 0. */
export async function prepareOnce(
  api: KubernetesApi,
  settings: DrainSettings,
  { event, vm }: Order,
  leftMs: () => number,
): Promise<Pass> {
  if (isShortFreeze(event, settings.freezeMs)) {
    const least = `${settings.freezeMs / 1000} s`
    const note = `not drained, as a Freeze of less than ${least} moves nothing`
    return { kind: 'succeeded', note, isQuiet: true }
  }
  const node = await api.node()
  const own = readVmName(node)
  if (own !== undefined && !isSameName(own, vm)) {
    const note = `not drained: node ${api.nodeName} is the VM ${own}, and the event is of ${vm}`
    return { kind: 'failed', note }
  }
  if (hasLabel(node, settings.pauseLabel)) {
    const why = `the node has the label ${settings.pauseLabel}`
    return { kind: 'again', note: `not drained: ${why}`, held: why }
  }
  if (preparedEvent(node)?.eventId !== event.eventId) {
    // with a thousand names it would not fit onto the node
    const short = { ...event, resources: [vm] }
    const patch = cordonPatch(node, short, await workloadsOn(api, settings, node))
    return leftMs() === 0 ? tooLate : cordon(api, patch)
  }
  if (!isCordoned(node)) {
    if (!(await letPods(api, node))) return changedMeanwhile
    return { kind: 'failed', note: 'not drained: somebody uncordoned the node' }
  }
  const pods = await api.pods(settings.selector, 'exact')
  const bare = pods.filter((pod) => judgePod(pod) === 'bare')
  const toMove = pods.filter((pod) => judgePod(pod) === 'moves')
  if (settings.movesBare) toMove.push(...bare)
  if (toMove.length > 0) {
    const left = await move(api, settings, toMove, leftMs)
    return { kind: 'again', note: `not drained: ${joinPods(left)}`, ...heldBy(left) }
  }
  const kept = settings.movesBare ? [] : bare.map(describePod)
  const why = '; left there, as no controller would start it again: '
  return { kind: 'succeeded', note: `drained${kept.length > 0 ? why + kept.join(', ') : ''}` }
}

async function cordon(api: KubernetesApi, patch: object): Promise<Pass> {
  if ((await api.patchNode(patch)) === 'conflict') return changedMeanwhile
  return { kind: 'again', note: 'not drained: the node was cordoned only now', isRecorded: true }
}

/** A person who uncordons the node wants pods on it. False: the node has changed meanwhile. */
export async function letPods(api: KubernetesApi, node: Node): Promise<boolean> {
  if (!isUncordoned(node)) return true
  return (await api.patchNode(untaintPatch(node))) !== 'conflict'
}

/** Throws what `api` throws. */
export async function restoreOnce(api: KubernetesApi): Promise<Pass> {
  const node = await api.node()
  if (preparedEvent(node) === undefined) {
    return { kind: 'succeeded', note: 'nothing to undo', isQuiet: true }
  }
  if ((await api.patchNode(uncordonPatch(node))) === 'conflict') return changedMeanwhile
  const done = { kind: 'succeeded', isRecorded: true } as const
  if (!isCordoned(node)) return { ...done, note: 'somebody had uncordoned the node' }
  if (isCordonedByUs(node)) return { ...done, note: 'uncordoned' }
  return { ...done, note: 'still cordoned, as somebody else had cordoned the node' }
}

/** Lists the workloads of the node. If the node is drained, lists the workloads that it ran before. */
export async function workloadsOn(
  api: KubernetesApi,
  { selector }: DrainSettings,
  node: Node,
): Promise<string[]> {
  const recorded = recordedWorkloads(node)
  if (recorded !== undefined) return recorded
  // a list without pages may be too large
  return listWorkloads(await api.pods(selector, 'recent').catch(() => api.pods(selector, 'exact')))
}

/** The pods that are still there, and why. */
async function move(
  api: KubernetesApi,
  settings: DrainSettings,
  pods: Pod[],
  leftMs: () => number,
): Promise<[string, string][]> {
  const left: [string, string][] = []
  for (let first = 0; first < pods.length && leftMs() > 0; first += evictionsAtOnce) {
    const some = pods.slice(first, first + evictionsAtOnce)
    // one pod that cannot go holds no other one up
    const whys = await Promise.all(
      some.map((pod) => moveOne(api, settings, pod, leftMs()).catch(chooseReason)),
    )
    for (const [i, pod] of some.entries()) left.push([describePod(pod), whys[i]!])
  }
  return left
}

const ending = 'still ending'

/** Why the pod is still there. */
async function moveOne(
  api: KubernetesApi,
  { by, graceSeconds }: DrainSettings,
  pod: Pod,
  leftMs: number,
): Promise<string> {
  if (pod.metadata.deletionTimestamp !== undefined) return ending
  const own = graceSeconds ?? pod.spec.terminationGracePeriodSeconds
  const left = Math.max(1, Math.floor(leftMs / 1000))
  // no longer than what is left: then the VM itself ends the pod
  const grace = own !== undefined && own <= left ? graceSeconds : left
  const why = await (by === 'evict' ? api.evict(pod, grace) : api.remove(pod, grace))
  return why ?? ending
}

/** Pods that end by themselves hold nothing up. */
function heldBy(left: [string, string][]): Pick<Pass, 'held'> {
  const held = left.filter(([, why]) => why !== ending)
  return held.length === 0 ? {} : { held: `held up by ${joinPods(held)}` }
}

function joinPods(left: [string, string][]): string {
  const named: string[] = []
  for (const [name, why] of left) {
    const text = `${name} (${why})`
    if (named.length > 0 && named.join(', ').length + text.length > maxNamed) break
    named.push(text)
  }
  const others = left.length - named.length
  return [...named, ...(others > 0 ? [`${others} more`] : [])].join(', ')
}
