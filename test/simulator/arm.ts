// A fake of the parts of Azure Resource Manager that acknowledge events and answer queries of Resource Graph,
// with the answers that Azure gives, and of the places that give tokens for it. It is called in place of
// `fetch`.

interface ArmRequest {
  method: string
  /** Without the api-version. */
  path: string
  version: string
}

interface Options {
  /** Api-versions that it takes. */
  versions?: readonly string[]
  /** By event id: the resource that the event belongs to, such as `virtualMachineScaleSets/web`. */
  events: Record<string, string>
  /** Whether the identity has the role. */
  hasRole?: boolean
  /** Whether the identity may read resources. */
  canRead?: boolean
  /** The subscriptions that the identity may not read. */
  unreadable?: string[]
  /** Whether the region supports it. */
  isSupported?: boolean
  /** Rows of Resource Graph, by the table that a query names. */
  rows?: { maintenanceresources?: object[]; resources?: object[] }
  /** Rows in a page of Resource Graph. */
  pageSize?: number
  /** What Resource Graph says of the quota: queries left, and when there are more. */
  quota?: { remaining: number; resetsAfter: string } | undefined
  onAcknowledge?: (eventId: string) => void
  /** In place of the next answers. */
  next?: { status: number; headers?: Record<string, string>; body?: object }[]
}

const arm = 'https://management.azure.com'

export class FakeArm {
  readonly requests: ArmRequest[] = []
  /** Bodies of token requests, and addresses of those without a body. */
  readonly tokenRequests: string[] = []
  readonly acknowledged: string[] = []
  /** Bodies of queries. */
  readonly queries: { subscriptions: string[]; query: string }[] = []
  options: Options
  /** The token that is valid now. */
  #token = 0

  constructor(options: Options) {
    this.options = options
  }

  /** The token that was given last is no longer valid. */
  revoke(): void {
    this.#token += 1
  }

  readonly fetch = async (url: string, init: RequestInit = {}): Promise<Response> => {
    const { origin, pathname, searchParams } = new URL(url)
    if (origin !== arm) {
      this.tokenRequests.push(init.body === undefined ? url : String(init.body))
      return json(200, { access_token: `token-${this.#token}`, expires_in: 3_600 })
    }
    const version = searchParams.get('api-version') ?? ''
    this.requests.push({ method: init.method ?? 'GET', path: pathname, version })
    const scripted = this.options.next?.shift()
    if (scripted !== undefined) {
      return json(scripted.status, scripted.body ?? {}, scripted.headers)
    }
    const { authorization } = init.headers as Record<string, string>
    if (authorization !== `Bearer token-${this.#token}`) return refused(401, 'InvalidToken')
    if (pathname === '/providers/Microsoft.ResourceGraph/resources') {
      return this.#query(JSON.parse(String(init.body)))
    }
    return this.#acknowledge(pathname, version)
  }

  #query(asked: { subscriptions: string[]; query: string; options?: { $skipToken?: string } }) {
    const { rows = {}, pageSize = 1_000, quota, canRead = true, unreadable = [] } = this.options
    if (!canRead) return refused(403, 'AuthorizationFailed')
    this.queries.push(asked)
    const subscriptions = asked.subscriptions.filter((one) => !unreadable.includes(one))
    const containers = subscriptions.map((one) => ({
      id: `/subscriptions/${one}/`,
      subscriptionId: one,
    }))
    const tables = { ...rows, resourcecontainers: containers }
    const table = /^(\w+) \|/.exec(asked.query)?.[1] as keyof typeof tables
    const inScope = ({ id = '' }: { id?: string }) =>
      subscriptions.some((one) => id.toLowerCase().startsWith(`/subscriptions/${one}/`))
    const all: object[] = (tables[table] ?? []).filter(inScope)
    const from = Number(asked.options?.$skipToken ?? 0)
    const isMore = from + pageSize < all.length
    const left = quota && {
      'x-ms-user-quota-remaining': String(quota.remaining),
      'x-ms-user-quota-resets-after': quota.resetsAfter,
    }
    const more = isMore ? { $skipToken: String(from + pageSize) } : {}
    return json(200, { count: 1, data: all.slice(from, from + pageSize), ...more }, left)
  }

  #acknowledge(path: string, version: string): Response {
    const { versions, events, hasRole = true, isSupported = true } = this.options
    if (versions !== undefined && !versions.includes(version)) {
      return refused(400, 'NoRegisteredProviderFound')
    }
    const form =
      /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.Compute\/(\w+\/[^/]+)\/providers\/Microsoft\.Maintenance\/scheduledevents\/([^/]+)\/acknowledge$/
    const [, resource, id] = form.exec(path) ?? []
    if (resource === undefined) return refused(400, 'BadRequest')
    if (!hasRole) return refused(403, 'AuthorizationFailed')
    // this one writes its names in the other case
    if (!isSupported) return json(405, { Error: { Code: 'NotImplemented', Message: 'not here' } })
    if (events[id!] !== resource) return refused(404, 'InvalidScheduledEventId')
    this.acknowledged.push(id!)
    this.options.onAcknowledge?.(id!)
    return json(200, { value: 'acknowledged' })
  }
}

function refused(status: number, code: string): Response {
  return json(status, { error: { code, message: `Azure says ${code}.` } })
}

function json(status: number, body: object, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers })
}
