// One HTTP exchange, as both transports do it: with a limit on everything.
export interface Exchange {
  url: URL
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  headers: Record<string, string>
  body?: string
  /** The limit of the whole exchange. */
  timeoutMs: number
  /** The limit of the connection alone, if that is shorter. */
  connectTimeoutMs?: number
  maxBytes: number
  signal: AbortSignal
}

export type Exchanged =
  | { kind: 'answered'; status: number; headers: AnswerHeaders; text: string }
  /** `stale`: the other side had closed a kept connection, so sending again may work. */
  | { kind: 'unanswered'; reason: string; stale: boolean }

/** The headers that the beacon reads. */
interface AnswerHeaders {
  'retry-after'?: string | undefined
  location?: string | undefined
}

export interface Transport {
  /** Never rejects, never follows a redirect. */
  exchange(asked: Exchange): Promise<Exchanged>
  close(): void
}

/** Proxy settings, by the names of the environment. */
export interface ProxyEnvironment {
  HTTPS_PROXY?: string
  NO_PROXY?: string
}

export const stopping = 'the beacon is stopping'
export const noAnswer = (timeoutMs: number) => `no answer within ${timeoutMs / 1000} s`
export const noConnection = (timeoutMs: number) => `no connection within ${timeoutMs / 1000} s`
export const tooLarge = (maxBytes: number) => `the answer is larger than ${maxBytes} bytes`
