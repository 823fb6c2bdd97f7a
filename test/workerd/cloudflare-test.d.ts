// The part of the test plugin that the tests use. Its own types need all types of Cloudflare, which
// would replace those of Node.
declare module 'cloudflare:test' {
  import type { ObjectState } from 'cloudflare:workers'

  interface State extends ObjectState {
    storage: ObjectState['storage'] & { deleteAlarm(): Promise<void> }
  }

  interface Stub {
    readonly id: unknown
    fetch(address: string, init?: RequestInit): Promise<Response>
    sweep(): Promise<void>
  }

  interface Namespace {
    newUniqueId(): unknown
    idFromName(name: string): unknown
    get(id: unknown): Stub
  }

  export const env: { RELAY: Namespace }
  export function runInDurableObject<Result>(
    stub: Stub,
    work: (object: unknown, state: State) => Result | Promise<Result>,
  ): Promise<Result>
  /** Whether an alarm was set, which it runs at once. */
  export function runDurableObjectAlarm(stub: Stub): Promise<boolean>
  /** Ends the object after its requests. Its storage stays. */
  export function evictDurableObject(stub: Stub): Promise<void>
  /** Ends all objects at once. */
  export function abortAllDurableObjects(): Promise<void>
}
