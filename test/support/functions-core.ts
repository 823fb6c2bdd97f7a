// A stand-in for `@azure/functions-core`, the module that exists only inside Azure's Node worker.
// Importing this file makes it resolve, the way the worker does it: by watching every `require`.
// Then the real `@azure/functions` registers what it is told to, instead of skipping it in its
// "test mode". The library keeps its state for the process, so there is one app in a process, as in
// Azure.
import Module from 'node:module'

export type Level = 'trace' | 'debug' | 'information' | 'warning' | 'error' | 'critical' | 'none'

/** `user` lines come from a function's context, `system` ones from library and host. */
export interface LogLine {
  level: Level
  category: 'user' | 'system'
  message: string
  invocationId?: string
  functionName?: string
}

type Binding = { type: string; direction: 'in' | 'out' } & Record<string, unknown>

export interface FunctionMetadata {
  name: string
  bindings: Record<string, Binding>
  retryOptions?: unknown
}

type FunctionCallback = (...inputs: unknown[]) => unknown

/** What travels over gRPC in Azure; exactly one member is present. */
export interface TypedData {
  string?: string
  json?: string
  bytes?: Uint8Array
  http?: unknown
}

export interface CoreInvocationContext {
  invocationId: string
  metadata: FunctionMetadata
  request: {
    inputData: { name: string; data: TypedData }[]
    triggerMetadata: Record<string, TypedData>
    retryContext?: { retryCount: number; maxRetryCount: number }
  }
  state?: 'preInvocationHooks' | 'invocation' | 'postInvocationHooks' | undefined
  log(level: Level, category: LogLine['category'], message: string): void
}

interface InvocationModel {
  getArguments(): Promise<{ context: unknown; inputs: unknown[] }>
  invokeFunction(context: unknown, inputs: unknown[], handler: FunctionCallback): Promise<unknown>
  getResponse(context: unknown, result: unknown): Promise<unknown>
}

interface ProgrammingModel {
  name: string
  version: string
  getInvocationModel(context: CoreInvocationContext): InvocationModel
  /** Starts the library's HTTP server where streams are enabled; its address is `HttpUri`. */
  getCapabilities(capabilities: Record<string, string>): Promise<Record<string, string>>
}

const hookNames = ['appStart', 'appTerminate', 'preInvocation', 'postInvocation'] as const
export type HookName = (typeof hookNames)[number]
type HookCallback = (context: Record<string, unknown>) => unknown

/** What the app has registered. */
export const registered = {
  functions: new Map<string, { metadata: FunctionMetadata; callback: FunctionCallback }>(),
  hooks: new Map<HookName, Set<HookCallback>>(hookNames.map((name) => [name, new Set()])),
  model: undefined as ProgrammingModel | undefined,
  started: false,
  onLine: (_line: LogLine): void => {},
}

class Disposable {
  readonly #dispose: () => void

  constructor(dispose: () => void) {
    this.#dispose = dispose
  }

  dispose(): void {
    this.#dispose()
  }
}

const coreApi = {
  version: '3.11.0',
  hostVersion: '4.1040.0',
  Disposable,
  setProgrammingModel(model: ProgrammingModel): void {
    registered.model = model
  },
  getProgrammingModel: () => registered.model,
  registerFunction(metadata: FunctionMetadata, callback: FunctionCallback): Disposable {
    const { name } = metadata
    if (registered.started) {
      throw new Error(`"${name}" comes late: a function can only be registered during app startup`)
    }
    if (registered.functions.has(name)) {
      throw new Error(`there are two functions "${name}"; every name is given once`)
    }
    registered.functions.set(name, { metadata, callback })
    return new Disposable(() => registered.functions.delete(name))
  },
  registerHook(name: string, callback: HookCallback): Disposable {
    const callbacks = registered.hooks.get(name as HookName)
    if (callbacks === undefined) {
      throw new RangeError(`the stand-in has no hook "${name}"; it has ${hookNames.join(', ')}`)
    }
    callbacks.add(callback)
    return new Disposable(() => callbacks.delete(callback))
  },
  log(level: Level, category: LogLine['category'], message: string): void {
    registered.onLine({ level, category, message })
  },
}

Module.prototype.require = new Proxy(Module.prototype.require, {
  apply: (target, self, names: [string]) =>
    names[0] === '@azure/functions-core' ? coreApi : Reflect.apply(target, self, names),
}) as NodeJS.Require
