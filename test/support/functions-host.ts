// A small Azure Functions host: it starts an app on the real `@azure/functions`, serves its HTTP
// functions on a loopback port, and runs queue and timer functions when told to. With streams
// enabled no body passes through the invocation; the library runs an HTTP server of its own, to
// which the host forwards each request under the invocation's id, while it tells the headers twice.
import { randomUUID } from 'node:crypto'
import {
  type CoreInvocationContext,
  type FunctionMetadata,
  type HookName,
  type LogLine,
  registered,
} from './functions-core.ts'
import { type HttpEdge, type Invocation, type InvocationRequest, serve } from './functions-http.ts'
import { triggerOf } from './functions-route.ts'

interface HostOptions {
  /** Loads the app: `() => import('…/azure.ts')`. Once in a process. */
  load: () => Promise<unknown>
  /** 0: any free one. */
  port?: number
  /** `extensions.http.routePrefix` of host.json; Azure's own default is `api`. */
  routePrefix?: string
  onLine?: (line: LogLine) => void
}

/** What Azure tells of a queue message; what is left out gets a usual value. */
interface QueueMetadata {
  id?: string
  dequeueCount?: number
  insertionTime?: string
  expirationTime?: string
  nextVisibleTime?: string
  popReceipt?: string
}

export class FunctionsHost {
  readonly lines: LogLine[] = []
  /** Errors that functions threw; in Azure they are marked in the telemetry. */
  readonly failures: { functionName: string; invocationId: string; error: unknown }[] = []
  /** Shared by all hooks, as in Azure. */
  readonly #appHookData = {}
  #edge: HttpEdge | undefined

  private constructor(onLine: HostOptions['onLine']) {
    registered.onLine = (line) => {
      this.lines.push(line)
      onLine?.(line)
    }
  }

  static async start(options: HostOptions): Promise<FunctionsHost> {
    if (registered.started) {
      throw new Error(
        'an app was started in this process before; use a test file or process of its own',
      )
    }
    const host = new FunctionsHost(options.onLine)
    await options.load()
    registered.started = true
    const { model } = registered
    if (model === undefined) throw new Error('nothing was registered; does `load` import the app?')
    const { HttpUri } = await model.getCapabilities({})
    await host.#runHooks('appStart', { hookData: {} })
    const { port = 0, routePrefix = '' } = options
    host.#edge = await serve(host, { port, routePrefix, workerUrl: HttpUri })
    return host
  }

  /** Name, bindings and retry options, as the app registered them. */
  get functions(): FunctionMetadata[] {
    return [...registered.functions.values()].map(({ metadata }) => metadata)
  }

  /** Without a slash at its end. */
  get url(): string {
    return this.#edge!.url
  }

  /** A real request over loopback; a redirect is answered, not followed. */
  invokeHttp(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, { redirect: 'manual', ...init })
  }

  /** One delivery of a message; JSON arrives parsed. Rejects as the function does. */
  async invokeQueue(name: string, message: string, metadata: QueueMetadata = {}): Promise<void> {
    const now = new Date().toISOString()
    const { dequeueCount = 1, id = randomUUID(), popReceipt = 'receipt' } = metadata
    const { insertionTime = now, nextVisibleTime = now, expirationTime = now } = metadata
    await this.begin(name, 'queueTrigger', {
      data: { string: message },
      triggerMetadata: {
        QueueTrigger: { string: message },
        DequeueCount: { string: String(dequeueCount) },
        Id: { string: id },
        PopReceipt: { string: popReceipt },
        InsertionTime: { json: JSON.stringify(insertionTime) },
        ExpirationTime: { json: JSON.stringify(expirationTime) },
        NextVisibleTime: { json: JSON.stringify(nextVisibleTime) },
      },
    }).response
  }

  async invokeTimer(name: string, { isPastDue = false } = {}): Promise<void> {
    const now = new Date().toISOString()
    const timer = {
      Schedule: { AdjustForDST: true },
      ScheduleStatus: { Last: now, Next: now, LastUpdated: now },
      IsPastDue: isPastDue,
    }
    const data = { json: JSON.stringify(timer) }
    await this.begin(name, 'timerTrigger', { data, triggerMetadata: {} }).response
  }

  /** Starts one invocation; its id is known before it answers, since HTTP is forwarded under it. */
  begin(name: string, type: string, request: InvocationRequest): Invocation {
    const metadata = registered.functions.get(name)?.metadata
    if (metadata === undefined) {
      const known = this.functions.map((one) => one.name).join(', ')
      throw new Error(`there is no function "${name}"; there are: ${known}`)
    }
    const trigger = triggerOf(metadata)
    if (trigger.binding.type !== type) {
      throw new Error(`"${name}" has a ${trigger.binding.type}, not a ${type}`)
    }
    const id = randomUUID()
    const inputData = [{ name: trigger.name, data: request.data }]
    const context: CoreInvocationContext = {
      invocationId: id,
      metadata,
      request: { inputData, triggerMetadata: request.triggerMetadata },
      log: (level, category, message) =>
        registered.onLine({ level, category, message, invocationId: id, functionName: name }),
    }
    const response = this.#invoke(context).catch((error) => {
      this.failures.push({ functionName: name, invocationId: id, error })
      throw error
    })
    return { id, response }
  }

  /** Runs the hooks of the end. The library's own server cannot be closed: a program must exit. */
  async stop(): Promise<void> {
    await this.#edge?.close()
    await this.#runHooks('appTerminate', { hookData: {} })
  }

  /** The order of the real worker's InvocationHandler. */
  async #invoke(core: CoreInvocationContext): Promise<unknown> {
    const model = registered.model!.getInvocationModel(core)
    const { context, inputs } = await model.getArguments()
    const hookData = {}
    const before = {
      hookData,
      invocationContext: context,
      inputs,
      functionCallback: registered.functions.get(core.metadata.name)!.callback,
    }
    core.state = 'preInvocationHooks'
    await this.#runHooks('preInvocation', before)
    core.state = 'invocation'
    const after = {
      hookData,
      invocationContext: context,
      inputs: before.inputs,
      result: null as unknown,
      error: null as unknown,
    }
    try {
      after.result = await model.invokeFunction(context, before.inputs, before.functionCallback)
    } catch (error) {
      after.error = error
    }
    core.state = 'postInvocationHooks'
    await this.#runHooks('postInvocation', after)
    core.state = undefined
    if (after.error !== null) throw after.error
    return model.getResponse(context, after.result)
  }

  async #runHooks(name: HookName, context: Record<string, unknown>): Promise<void> {
    const shared = Object.assign(context, { appHookData: this.#appHookData })
    for (const hook of registered.hooks.get(name)!) await hook(shared)
  }
}
