// The endpoints of Kubernetes' API server that a drain uses, as a real kubectl expects them: nodes, pods,
// evictions within disruption budgets, events, discovery. It knows the time only from `now`.

export interface Pod {
  namespace: string
  name: string
  /** Default: its namespace and name. */
  uid?: string
  node: string
  labels: Record<string, string>
  /** Of its controller; undefined for a bare pod. */
  owner?: 'ReplicaSet' | 'StatefulSet' | 'DaemonSet' | 'Job'
  /** Default: a name of its own. */
  ownerName?: string
  /** The kubelet made it from a file. */
  isMirror?: boolean
  annotations?: Record<string, string>
  phase?: string
  graceSeconds: number
  /** How long it takes to end once it is asked; `never` ends only when its time is over. */
  endsInMs: number | 'never'
  /** Set once it ends. */
  endsAt?: number
  /** The grace that it was given, seconds. */
  given?: number
}

interface Node {
  metadata: {
    name: string
    uid: string
    resourceVersion: string
    labels: Record<string, string>
    annotations: Record<string, string>
    managedFields?: Json[]
  }
  spec: { providerID: string; unschedulable?: boolean; taints?: Json[] }
  status: { conditions: Json[] }
}

/** As many pods with these labels as `least` must run. */
interface Budget {
  namespace: string
  name: string
  labels: Record<string, string>
  least: number
}

type Json = Record<string, unknown>

interface Ask {
  method: string
  /** Path and query. */
  path: string
  token: string | undefined
  type?: string
  body?: string
}

interface Answer {
  status: number
  body: unknown
}

/** What the chart lets the drain do. */
export const drainRights = [
  'get nodes',
  'patch nodes',
  'patch nodes/status',
  'list pods',
  'create pods/eviction',
  'create events',
]

export class FakeKubernetes {
  readonly nodes = new Map<string, Node>()
  pods: Pod[] = []
  budgets: Budget[] = []
  readonly events: Json[] = []
  /** By token. `*` for everything. */
  readonly rights = new Map<string, readonly string[]>()
  /** `METHOD PATH`, in order. */
  readonly asked: string[] = []
  /** How many nodes were cordoned at once, at most. */
  mostCordoned = 0
  /** Answers all requests with this instead. */
  trouble: Answer | undefined
  readonly #now: () => number
  #version = 1

  constructor(now: () => number) {
    this.#now = now
  }

  addNode(name: string, providerID = `azure:///subscriptions/s/virtualMachines/${name}`): Node {
    const metadata = {
      ...{ name, uid: `uid-${name}`, resourceVersion: this.#next() },
      ...{ labels: {}, annotations: {} },
    }
    const node: Node = { metadata, spec: { providerID }, status: { conditions: [] } }
    this.nodes.set(name, node)
    return node
  }

  addPod(pod: Partial<Pod> & Pick<Pod, 'name' | 'node'>): Pod {
    const usual = { namespace: 'shop', labels: {}, graceSeconds: 30, endsInMs: 1_000 }
    const whole: Pod = { ...usual, owner: 'ReplicaSet', ...pod }
    if ('owner' in pod && pod.owner === undefined) delete whole.owner
    this.pods.push(whole)
    return whole
  }

  /** Of pods that are not over. */
  on(node: string): string[] {
    this.#settle()
    return this.pods.filter((pod) => pod.node === node).map(({ name }) => name)
  }

  /** As `kubectl cordon` and `uncordon` do, by somebody with all rights. */
  cordon(node: string, unschedulable: true | null): void {
    this.rights.set('admin', ['*'])
    const type = 'application/strategic-merge-patch+json'
    const path = `/api/v1/nodes/${node}?fieldManager=kubectl-cordon`
    const body = JSON.stringify({ spec: { unschedulable } })
    this.answer({ method: 'PATCH', path, token: 'admin', type, body })
  }

  answer(ask: Ask): Answer {
    this.#settle()
    const { pathname, searchParams } = new URL(ask.path, 'http://k')
    this.asked.push(`${ask.method} ${pathname}`)
    if (this.trouble !== undefined) return this.trouble
    const found = this.#route(ask, pathname, searchParams)
    const cordoned = [...this.nodes.values()].filter(({ spec }) => spec.unschedulable === true)
    this.mostCordoned = Math.max(this.mostCordoned, cordoned.length)
    return found
  }

  #route(ask: Ask, path: string, query: URLSearchParams): Answer {
    const { method } = ask
    const granted = this.rights.get(ask.token ?? '')
    if (granted === undefined) return failure(401, 'Unauthorized', 'Unauthorized')
    if (path in discovery) return { status: 200, body: discovery[path] }
    const need = needOf(method, path)
    if (need === undefined) return failure(404, 'NotFound', 'the server could not find it')
    if (!granted.includes('*') && !granted.includes(need)) {
      const [verb, resource] = need.split(' ')
      const what = `cannot ${verb} resource "${resource}"`
      return failure(403, 'Forbidden', `${resource} is forbidden: User "test" ${what}`)
    }
    const [, name = ''] = /^\/api\/v1\/nodes\/([^/]+)/.exec(path) ?? []
    if (name !== '') {
      const node = this.nodes.get(name)
      if (node === undefined) return failure(404, 'NotFound', `nodes "${name}" not found`)
      return method === 'GET'
        ? ok(shownNode(node))
        : this.#patch(node, ask, path, query.get('fieldManager') ?? 'unknown')
    }
    if (path === '/api/v1/pods') return this.#list(query)
    if (path.includes('/daemonsets/')) return ok({ kind: 'DaemonSet', apiVersion: 'apps/v1' })
    if (path.endsWith('/events')) {
      this.events.push(JSON.parse(ask.body ?? '{}'))
      return { status: 201, body: JSON.parse(ask.body ?? '{}') }
    }
    return this.#pod(ask, path)
  }

  #patch(node: Node, { type, body = '{}' }: Ask, path: string, manager: string): Answer {
    const kinds = ['application/strategic-merge-patch+json', 'application/merge-patch+json']
    if (!kinds.includes(type ?? '')) {
      return failure(415, 'UnsupportedMediaType', `the body of the request was in ${type}`)
    }
    const patch = JSON.parse(body)
    const asked = patch.metadata?.resourceVersion
    if (asked !== undefined && asked !== node.metadata.resourceVersion) {
      const why = 'the object has been modified; please apply your changes to the latest version'
      return failure(409, 'Conflict', `Operation cannot be fulfilled on nodes: ${why}`)
    }
    if (path.endsWith('/status')) {
      const fresh: Json[] = patch.status?.conditions ?? []
      const others = node.status.conditions.filter((one) => !fresh.some((f) => f.type === one.type))
      node.status.conditions = [...others, ...fresh]
    } else {
      merge(node.metadata.annotations, patch.metadata?.annotations)
      merge(node.metadata.labels, patch.metadata?.labels)
      const before = node.spec.unschedulable
      merge(node.spec as unknown as Json, patch.spec)
      if (node.spec.unschedulable !== before) node.metadata.managedFields = setBy(manager, node)
    }
    node.metadata.resourceVersion = this.#next()
    return ok(shownNode(node))
  }

  #list(query: URLSearchParams): Answer {
    const fields = (query.get('fieldSelector') ?? '').split(',')
    const node = fields.find((one) => one.startsWith('spec.nodeName='))?.slice(14)
    const labels = query.get('labelSelector') ?? ''
    const hidden = fields
      .filter((one) => one.startsWith('status.phase!='))
      .map((one) => one.slice('status.phase!='.length))
    const all = this.pods.filter(
      (pod) =>
        (node === undefined || pod.node === node) &&
        !hidden.includes(pod.phase ?? 'Running') &&
        matches(pod.labels, labels),
    )
    const from = Number(query.get('continue') ?? 0)
    // from the cache, all at once
    const isRecent = query.get('resourceVersion') === '0'
    const limit = isRecent ? all.length : Number(query.get('limit') ?? all.length)
    const rest = from + limit < all.length ? { continue: String(from + limit) } : {}
    const items = all.slice(from, from + limit).map((pod) => this.#shown(pod))
    const metadata = { resourceVersion: '1', ...rest }
    return ok({ kind: 'PodList', apiVersion: 'v1', metadata, items })
  }

  #pod({ method, body = '{}' }: Ask, path: string): Answer {
    const [, , , , namespace, , name = '', sub] = path.split('/')
    const pod = this.pods.find((one) => one.namespace === namespace && one.name === name)
    if (pod === undefined) return failure(404, 'NotFound', `pods "${name}" not found`)
    if (method === 'GET') return ok(this.#shown(pod))
    const read = body === '' ? {} : JSON.parse(body)
    const { preconditions } = sub === 'eviction' ? (read.deleteOptions ?? {}) : read
    if (preconditions?.uid !== undefined && preconditions.uid !== uidOf(pod)) {
      return failure(409, 'Conflict', 'the UID in the precondition does not match')
    }
    if (sub !== 'eviction') return this.#end(pod, read.gracePeriodSeconds)
    if (read.kind !== 'Eviction' || read.apiVersion !== 'policy/v1' || read.metadata?.name !== name)
      return failure(400, 'BadRequest', 'the body is no Eviction of policy/v1 for this pod')
    const own = this.budgets.filter(
      (budget) => budget.namespace === pod.namespace && hasAll(pod.labels, budget.labels),
    )
    if (own.length > 1) {
      const why = 'This pod has more than one PodDisruptionBudget, which the eviction subresource'
      return failure(500, 'InternalError', `${why} does not support.`)
    }
    const [budget] = own
    if (budget !== undefined && pod.endsAt === undefined && !this.#spares(budget)) {
      const why = "Cannot evict pod as it would violate the pod's disruption budget."
      return failure(429, 'TooManyRequests', why)
    }
    return this.#end(pod, read.deleteOptions?.gracePeriodSeconds)
  }

  /** Whether one more may end. */
  #spares({ namespace, labels, least }: Budget): boolean {
    const running = this.pods.filter(
      (pod) =>
        pod.namespace === namespace && hasAll(pod.labels, labels) && pod.endsAt === undefined,
    )
    return running.length - 1 >= least
  }

  #end(pod: Pod, graceSeconds: number | undefined): Answer {
    const given = graceSeconds ?? pod.graceSeconds
    const { endsInMs } = pod
    const takesMs = endsInMs === 'never' ? given * 1000 : Math.min(endsInMs, given * 1000)
    pod.given = given
    pod.endsAt ??= this.#now() + takesMs
    return { status: 201, body: { kind: 'Status', apiVersion: 'v1', status: 'Success' } }
  }

  /** Pods whose time has come are gone. A controller starts them again where pods may go. */
  #settle(): void {
    const now = this.#now()
    for (const pod of [...this.pods]) {
      if (pod.endsAt === undefined || pod.endsAt > now) continue
      this.pods.splice(this.pods.indexOf(pod), 1)
      const { endsAt: _, given: __, ...again } = pod
      const free = [...this.nodes.values()].find(({ spec }) => spec.unschedulable !== true)
      const node = pod.owner === 'DaemonSet' ? pod.node : free?.metadata.name
      if (pod.owner === undefined || node === undefined) continue
      const name = pod.owner === 'StatefulSet' ? pod.name : `${pod.name}-again`
      this.pods.push({ ...again, name, node })
    }
  }

  #shown({ namespace, name, labels, owner, ownerName, isMirror, phase = 'Running', ...pod }: Pod) {
    const kind = isMirror ? 'Node' : owner
    return {
      ...{ kind: 'Pod', apiVersion: 'v1' },
      metadata: {
        ...{ name, namespace, labels, uid: pod.uid ?? `${namespace}/${name}` },
        ...((isMirror || pod.annotations) && {
          annotations: {
            ...pod.annotations,
            ...(isMirror && { 'kubernetes.io/config.mirror': 'x' }),
          },
        }),
        ...(pod.endsAt !== undefined && {
          deletionTimestamp: new Date(pod.endsAt).toISOString(),
          deletionGracePeriodSeconds: pod.given,
        }),
        ...(kind && {
          ownerReferences: [
            {
              apiVersion: 'apps/v1',
              kind,
              name: ownerName ?? `${name}-owner`,
              uid: 'u',
              controller: true,
            },
          ],
        }),
      },
      spec: { nodeName: pod.node, terminationGracePeriodSeconds: pod.graceSeconds, containers: [] },
      status: { phase },
    }
  }

  #next(): string {
    this.#version += 1
    return String(this.#version)
  }
}

/** `VERB RESOURCE`, as roles name it. */
function needOf(method: string, path: string): string | undefined {
  const verbs: Record<string, string> = {
    ...{ GET: 'get', PATCH: 'patch', POST: 'create', DELETE: 'delete' },
  }
  if (/^\/api\/v1\/nodes\/[^/]+$/.test(path)) return `${verbs[method]} nodes`
  if (/^\/api\/v1\/nodes\/[^/]+\/status$/.test(path)) return `${verbs[method]} nodes/status`
  if (path === '/api/v1/pods') return 'list pods'
  if (/^\/api\/v1\/namespaces\/[^/]+\/events$/.test(path)) return 'create events'
  if (/^\/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+\/eviction$/.test(path))
    return 'create pods/eviction'
  if (/^\/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+$/.test(path)) return `${verbs[method]} pods`
  if (/^\/apis\/apps\/v1\/namespaces\/[^/]+\/daemonsets\/[^/]+$/.test(path)) return 'get daemonsets'
  return undefined
}

function uidOf({ uid, namespace, name }: Pod): string {
  return uid ?? `${namespace}/${name}`
}

function merge(into: Json, patch: Json | undefined): void {
  for (const [key, value] of Object.entries(patch ?? {})) {
    if (value === null) delete into[key]
    else into[key] = value
  }
}

function hasAll(labels: Record<string, string>, wanted: Record<string, string>): boolean {
  return Object.entries(wanted).every(([key, value]) => labels[key] === value)
}

/** `a=b`, `a!=b` and `a`, with commas. */
function matches(labels: Record<string, string>, selector: string): boolean {
  return selector
    .split(',')
    .filter((one) => one !== '')
    .every((one) => {
      const [, key = '', not, value] = /^([^=!]+)(!)?(?:==?(.*))?$/.exec(one) ?? []
      if (value === undefined) return key in labels
      return (labels[key] === value) === (not === undefined)
    })
}

/** Of the field `unschedulable`, as the others are nobody's business here. */
function setBy(manager: string, { spec }: Node): Json[] {
  if (spec.unschedulable === undefined) return []
  const fieldsV1 = { 'f:spec': { 'f:unschedulable': {} } }
  return [{ manager, operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1 }]
}

function shownNode(node: Node) {
  return { kind: 'Node', apiVersion: 'v1', ...node }
}

function ok(body: unknown): Answer {
  return { status: 200, body }
}

function failure(status: number, reason: string, message: string): Answer {
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message,
    reason,
    code: status,
  }
  return { status, body }
}

const podVerbs = ['get', 'list', 'delete', 'create', 'patch']
/** What a client asks first. */
const discovery: Record<string, unknown> = {
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/apis': {
    ...{ kind: 'APIGroupList', apiVersion: 'v1' },
    groups: ['policy', 'apps'].map((name) => ({
      name,
      versions: [{ groupVersion: `${name}/v1`, version: 'v1' }],
      preferredVersion: { groupVersion: `${name}/v1`, version: 'v1' },
    })),
  },
  '/api/v1': {
    ...{ kind: 'APIResourceList', groupVersion: 'v1' },
    resources: [
      { name: 'nodes', singularName: 'node', namespaced: false, kind: 'Node', verbs: podVerbs },
      { name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod', verbs: podVerbs },
      {
        ...{ name: 'pods/eviction', namespaced: true, kind: 'Eviction', verbs: ['create'] },
        ...{ group: 'policy', version: 'v1', singularName: '' },
      },
    ],
  },
  '/apis/policy/v1': {
    ...{ kind: 'APIResourceList', groupVersion: 'policy/v1' },
    resources: [],
  },
  '/apis/apps/v1': {
    ...{ kind: 'APIResourceList', groupVersion: 'apps/v1' },
    resources: [
      {
        ...{ name: 'daemonsets', singularName: 'daemonset', namespaced: true },
        ...{ kind: 'DaemonSet', verbs: ['get'] },
      },
    ],
  },
}
