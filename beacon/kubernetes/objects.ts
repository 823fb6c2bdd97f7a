// What the drain reads of a node and its pods, and the patches that it writes. Pure. Shapes:
// https://kubernetes.io/docs/reference/kubernetes-api/
import * as z from 'zod/mini'
import { limits, type ScheduledEvent, scheduledEventSchema } from '../../shared/document.ts'
import { parseJson } from '../../shared/json.ts'
import { maxWorkloads } from '../../shared/report.ts'
import { cut } from '../../shared/text.ts'

/** The annotation of a node that Foghorn cordoned: the EventId. Only such a node is uncordoned. */
const cordonedBy = 'foghorn/cordoned-by'
/** The API server records which manager set a field last. */
export const fieldManager = 'foghorn'
/** The annotation of a prepared node: the event, as JSON. It outlives the pods of Foghorn. */
const preparedFor = 'foghorn/event'
/** What the node ran before, by commas. */
const ranBefore = 'foghorn/workloads'
const taintKey = 'foghorn/maintenance'
const conditionType = 'FoghornMaintenance'
/** The kubelet makes such a pod from a file, and the API server cannot evict it. */
const mirror = 'kubernetes.io/config.mirror'
/** The value of this label is part of the name of a Deployment's ReplicaSet. */
const templateHash = 'pod-template-hash'
const finished = ['Succeeded', 'Failed']

const texts = z.optional(z.record(z.string(), z.string()))

export const nodeSchema = z.object({
  metadata: z.object({
    name: z.string(),
    resourceVersion: z.string(),
    labels: texts,
    annotations: texts,
    managedFields: z.optional(
      z.array(
        z.object({
          manager: z.optional(z.string()),
          fieldsV1: z.optional(
            z.object({ 'f:spec': z.optional(z.record(z.string(), z.unknown())) }),
          ),
        }),
      ),
    ),
  }),
  spec: z.object({
    unschedulable: z.optional(z.boolean()),
    providerID: z.optional(z.string()),
    taints: z.optional(z.array(z.looseObject({ key: z.string() }))),
  }),
  status: z.optional(
    z.object({
      conditions: z.optional(z.array(z.object({ type: z.string(), status: z.string() }))),
    }),
  ),
})
export type Node = z.infer<typeof nodeSchema>

/** A pod may have much text, so only the fields that are read are kept. */
const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    annotations: z.optional(z.object({ [mirror]: z.optional(z.string()) })),
    deletionTimestamp: z.optional(z.string()),
    labels: z.optional(z.object({ [templateHash]: z.optional(z.string()) })),
    ownerReferences: z.optional(
      z.array(
        z.object({ kind: z.string(), name: z.string(), controller: z.optional(z.boolean()) }),
      ),
    ),
  }),
  spec: z.object({ terminationGracePeriodSeconds: z.optional(z.number()) }),
  status: z.object({ phase: z.optional(z.string()) }),
})
export type Pod = z.infer<typeof podSchema>

export const podListSchema = z.object({
  metadata: z.object({ continue: z.optional(z.string()) }),
  items: z.array(podSchema),
})

/** `message` of an error, as the API server sends it. */
export const statusSchema = z.object({ message: z.optional(z.string()) })

/**
 * What IMDS calls the VM of a node, from its `providerID`. A VM of a uniform scale set is the set and a
 * number. Undefined if Azure's cloud provider did not write it.
 */
export function readVmName({ spec: { providerID = '' } }: Node): string | undefined {
  const found =
    /^azure:\/\/.*?(?:\/virtualMachineScaleSets\/([^/]+))?\/virtualMachines\/([^/]+)$/i.exec(
      providerID,
    )
  if (found === null) return undefined
  const [, set, vm] = found
  return set === undefined ? vm : `${set}_${vm}`
}

/** The event that the node has on record, and whether its preparation has begun. */
export function preparedEvent({ metadata }: Node): ScheduledEvent | undefined {
  const text = metadata.annotations?.[preparedFor]
  const read = scheduledEventSchema.safeParse(text === undefined ? undefined : parseJson(text))
  return read.success ? read.data : undefined
}

/** Undefined if the node is not prepared. Others may have written the annotation, so it is cut to what reports take. */
export function recordedWorkloads({ metadata }: Node): string[] | undefined {
  const names = metadata.annotations?.[ranBefore]?.split(',').filter((name) => name !== '')
  return names?.slice(0, maxWorkloads).map((name) => cut(name, limits.name))
}

export function isCordoned({ spec }: Node): boolean {
  return spec.unschedulable === true
}

/** Whether somebody let pods onto the node again, which our taint still refuses. */
export function isUncordoned(node: Node): boolean {
  return !isCordoned(node) && (node.spec.taints ?? []).some(({ key }) => key === taintKey)
}

/** Whether the cordon is ours. If somebody cordoned the node anew, only our annotation is left. */
export function isCordonedByUs({ metadata }: Node): boolean {
  const { annotations, managedFields = [] } = metadata
  const setters = managedFields.filter(({ fieldsV1 }) => fieldsV1?.['f:spec']?.['f:unschedulable'])
  const isOurs = setters.length === 0 || setters.some(({ manager }) => manager === fieldManager)
  return annotations?.[cordonedBy] !== undefined && isOurs
}

/** `KEY=VALUE`, or `KEY` with any value. */
export function hasLabel({ metadata }: Node, label: string): boolean {
  const [key = '', ...rest] = label.split('=')
  const value = metadata.labels?.[key]
  return value !== undefined && (rest.length === 0 || value === rest.join('='))
}

/** Refused if the node has changed since it was read, as its taints are replaced as a whole. */
export function cordonPatch(node: Node, event: ScheduledEvent, workloads: string[]): object {
  const { resourceVersion } = node.metadata
  const own = { key: taintKey, value: 'planned', effect: 'NoSchedule' }
  const annotations = {
    [preparedFor]: JSON.stringify(event),
    [ranBefore]: workloads.join(','),
    // who cordons first may uncordon
    ...(!isCordoned(node) && { [cordonedBy]: event.eventId }),
  }
  return {
    metadata: { resourceVersion, annotations },
    spec: { unschedulable: true, taints: [...taintsOfOthers(node), own] },
  }
}

export function uncordonPatch(node: Node): object {
  const { resourceVersion } = node.metadata
  return {
    metadata: {
      resourceVersion,
      annotations: { [preparedFor]: null, [ranBefore]: null, [cordonedBy]: null },
    },
    spec: { taints: taintsOfOthers(node), ...(isCordonedByUs(node) && { unschedulable: null }) },
  }
}

/** The patch for a node that somebody uncordoned. If somebody cordons it later, that is not our cordon. */
export function untaintPatch(node: Node): object {
  const { resourceVersion } = node.metadata
  return {
    metadata: { resourceVersion, annotations: { [cordonedBy]: null } },
    spec: { taints: taintsOfOthers(node) },
  }
}

function taintsOfOthers({ spec }: Node) {
  return (spec.taints ?? []).filter(({ key }) => key !== taintKey)
}

/** `reason` is one word. `at` is epoch ms. */
export function conditionPatch(
  node: Node,
  what: { isOn: boolean; reason: string; message: string },
  at: number,
): object {
  const { isOn, reason, message } = what
  const time = secondsIso(at)
  const status = isOn ? 'True' : 'False'
  const before = node.status?.conditions?.find(({ type }) => type === conditionType)
  const condition = {
    ...{ type: conditionType, status, reason, message, lastHeartbeatTime: time },
    ...(before?.status !== status && { lastTransitionTime: time }),
  }
  return { status: { conditions: [condition] } }
}

/** An Event of the node, which `kubectl describe node` shows. */
export function nodeEvent(
  node: string,
  what: { reason: string; message: string; isWarning: boolean },
  at: number,
): object {
  const { reason, message, isWarning } = what
  const time = secondsIso(at)
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { generateName: 'foghorn-', namespace: 'default' },
    // as the kubelet does: the uid is the name
    involvedObject: { apiVersion: 'v1', kind: 'Node', name: node, uid: node },
    ...{ reason, message, type: isWarning ? 'Warning' : 'Normal', count: 1 },
    source: { component: 'foghorn', host: node },
    ...{ firstTimestamp: time, lastTimestamp: time },
    ...{ reportingComponent: 'foghorn', reportingInstance: node },
  }
}

/** Kubernetes' times have no fraction of a second. */
function secondsIso(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`
}

/** `shop/db-0`; in the namespace `default` the name alone. */
export function describePod({ metadata: { namespace, name } }: Pod): string {
  return namespace === 'default' ? name : `${namespace}/${name}`
}

/**
 * The controllers of the pods that are not bound to the node, as `NAMESPACE/NAME`. That of a Deployment's
 * pod is a ReplicaSet, with the hash of the pods in its name.
 */
export function listWorkloads(pods: Pod[]): string[] {
  const names = pods
    .filter((pod) => judgePod(pod) !== 'stays')
    .map(({ metadata: { namespace, name, labels, ownerReferences = [] } }) => {
      const owner = ownerReferences.find(({ controller }) => controller === true)?.name ?? name
      const end = `-${labels?.[templateHash]}`
      const workload = owner.endsWith(end) ? owner.slice(0, -end.length) : owner
      return cut(`${namespace}/${workload}`, limits.name)
    })
  return [...new Set(names)].sort().slice(0, maxWorkloads)
}

/**
 * What the drain does with a pod. `bare`: no controller would start it again elsewhere. A pod of a
 * DaemonSet stays: its controller would start it on the same node again.
 */
export function judgePod({ metadata, status }: Pod): 'moves' | 'stays' | 'bare' {
  const { annotations, ownerReferences = [] } = metadata
  if (annotations?.[mirror] !== undefined) return 'stays'
  if (finished.includes(status.phase ?? '')) return 'stays'
  const owner = ownerReferences.find(({ controller }) => controller === true)
  if (owner === undefined) return 'bare'
  return owner.kind === 'DaemonSet' ? 'stays' : 'moves'
}
