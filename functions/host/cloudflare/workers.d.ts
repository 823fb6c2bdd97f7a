// The part of Cloudflare's runtime that the relay uses. The whole types would replace those of Node.
declare module 'cloudflare:workers' {
  export interface ObjectState {
    storage: import('../../store/durable-object.ts').ObjectStorage & {
      /** Epoch ms. Replaces the alarm that was set before. */
      setAlarm(at: number): Promise<void>
    }
    /** Requests and alarms wait until `work` has ended. If it fails, the object starts again. */
    blockConcurrencyWhile<Result>(work: () => Promise<Result>): Promise<Result>
  }

  export class DurableObject<Environment> {
    protected ctx: ObjectState
    protected env: Environment
    constructor(ctx: ObjectState, env: Environment)
  }
}
