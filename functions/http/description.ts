// How a route describes itself for `GET /openapi.json`. Descriptions are in description.ts beside
// the routes; openapi.ts joins them.
import type { z } from 'zod'

/** Who may send a request. `admin`: with the admin key, or a token with the scope. */
type Caller = 'anyone' | 'admin' | 'beacon' | 'slack' | 'link'

interface Answer {
  about: string
  /** Absent if there is no body. */
  schema?: z.core.$ZodType
  /** Default: JSON. */
  type?: string
}

export interface RouteDescription {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete' | 'options'
  /** With `{name}` where the path has a parameter. */
  path: string
  /** The name of the function in a generated client. */
  name: string
  /** One line. */
  summary: string
  /** More, in Markdown. */
  about?: string
  group:
    | 'Events'
    | 'Beacons'
    | 'Channels'
    | 'Drills'
    | 'Decisions'
    | 'Tokens'
    | 'Subscriptions'
    | 'Relay'
  caller: Caller
  /** What the parameters in the path are. */
  params?: Record<string, string>
  /** The parameters of the address. Others are refused, unless it is `'any'`. Default: none. */
  query?: z.ZodObject | 'any'
  /** Default: JSON. */
  body?: { schema: z.core.$ZodType; type?: string; maxBytes: number; isOptional?: true }
  /** By status. Errors are in `problems`. */
  answers: Record<number, Answer>
  /** Statuses of errors, besides those that follow from `caller`, `query` and `body`. */
  problems?: number[]
}
