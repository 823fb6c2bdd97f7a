// A route of the API is one value: its description, the schemas of what it takes, and its handler. The
// app serves it, and `GET /openapi.json` describes it. routes.ts lists all of them.
import type { Context, MiddlewareHandler } from 'hono'
import type * as z from 'zod'
import { describeIssues } from '../../shared/errors.ts'
import { parseJson } from '../../shared/json.ts'
import type { Scope } from '../core/rules/access.ts'
import type { LinkGuard } from '../links/guard.ts'
import { describeRemedy } from '../schema/checks.ts'
import type { FrequentLog } from '../use-cases/frequent-log.ts'
import type { Relay } from '../use-cases/relay.ts'
import type { KeyGuard } from './api/admin-key.ts'
import type { Door } from './door.ts'
import { limitForm } from './page.ts'
import { limit, problem } from './problem.ts'
import { readQuery } from './query.ts'
import type { RateName } from './rate.ts'
import type { ReportCounts } from './report-counts.ts'

export interface Doors {
  door: Door
  /** Another door, for the page of one event and for decisions: people wait for no list. */
  eventDoor: Door
}

/** What handlers share. Each app makes it once. */
export interface Shared extends Doors {
  /** A third door, for checks and for what large reports bring: each event by itself, as a report may have many. */
  reportDoor: Door
  relay: Relay
  keyGuard: KeyGuard
  linkGuard: LinkGuard
  refusals: FrequentLog
  reports: ReportCounts
  routes: readonly Route[]
}

/**
 * Who may send a request. A scope: the admin key, or a token with this scope. `admin`: the admin key
 * alone. `calendar`: a token in the address. `service`: one that sends presses of buttons, see `Sender`. The
 * handlers of `beacon`, `service` and `link` check the credential themselves.
 */
export type Caller = 'anyone' | 'admin' | Scope | 'beacon' | 'service' | 'link'

/** A service that sends presses of buttons, and how it proves itself. */
interface Sender {
  /** Its entry among the security schemes of OpenAPI. */
  scheme: { name: string; value: Record<string, unknown> }
  /** The answer to a request that the relay refuses, or undefined. */
  refuse(
    relay: Pick<Relay, 'config' | 'credentials' | 'presses' | 'now'>,
    refusals: FrequentLog,
    c: Context,
  ): Promise<Response | undefined>
}

interface Answer {
  about: string
  /** Absent if there is no body. */
  schema?: z.core.$ZodType
  /** Default: JSON. */
  type?: string
}

/** The groups of the API that features bring. Each adds its own by declaration merging. */
// biome-ignore lint/suspicious/noEmptyInterface: features add to it
export interface FeatureGroups {}

/** What each group of the API is, for its documentation. */
export interface Groups extends FeatureGroups {
  Events: string
  Beacons: string
  Channels: string
  Drills: string
  Decisions: string
  Tokens: string
  Relay: string
}

interface Description {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete' | 'options'
  /** The path has `{name}` where it has a parameter. `{+name}` may contain slashes. */
  path: string
  /** The name of the function in a generated client. */
  name: string
  /** One line. */
  summary: string
  /** More about the route, in Markdown. */
  about?: string
  group: keyof Groups
  caller: Caller
  /** Present if the caller is a `service`. */
  sender?: Sender
  /** How often one asker may use it. */
  rate?: RateName
  /** The handler asks for its turns at the door itself: it waits on purpose, or works in parts. */
  takesTurns?: true
  /** What the parameters in the path are. */
  params?: Record<string, string>
  /** Answers by status. Errors are in `problems`. */
  answers: Record<number, Answer>
  /** Statuses of errors, besides those that follow from the caller, the query and the body. */
  problems?: readonly number[]
}

interface Body<Schema> {
  schema: Schema
  maxBytes: number
}

/** A body that the app parses. `code` and `example` are for the error about a wrong one. */
interface JsonBody<Schema> extends Body<Schema> {
  code: string
  example: string
  /** Without a body, the schema gets `{}`. */
  isOptional?: true
}

/** A body that the handler reads itself, after it has checked the signature. */
interface SignedBody extends Body<z.core.$ZodType> {
  /** Default: JSON. */
  type?: string
}

interface Input<Path extends string, Query extends z.ZodType, Json extends z.ZodType> {
  params: Record<NamesIn<Path>, string>
  query: z.output<Query>
  body: z.output<Json>
}

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `+${infer Bare}` ? Bare : Name) | NamesIn<Rest>
  : never

type Handler<Given> = (c: Context, input: Given) => Response | Promise<Response>

interface TypedRoute<Needs, Path extends string, Query extends z.ZodObject, Json extends z.ZodType>
  extends Description {
  path: Path
  /** The parameters of the address. Others are refused, unless it is `any`. Default: none. */
  query?: Query | 'any'
  json?: JsonBody<Json>
  body?: SignedBody
  /** Called once for each app. */
  handler(shared: Needs): Handler<Input<Path, Query, Json>>
}

/** A route in a list of all kinds. */
export interface Route<Needs = Shared> extends Description {
  query?: z.ZodObject | 'any'
  json?: JsonBody<z.ZodType>
  body?: SignedBody
  handler(shared: Needs): Handler<never>
}

/** Checks that the handler takes what the path and the schemas give. */
export function route<
  const Path extends string,
  Query extends z.ZodObject = z.ZodObject<Record<never, z.ZodType>>,
  Json extends z.ZodType = z.ZodUndefined,
  Needs = Shared,
>(typed: TypedRoute<Needs, Path, Query, Json>): Route<Needs> {
  return typed
}

/** The path as the router writes it. */
export function routerPath({ path }: Pick<Route, 'path'>): string {
  return path.replace(/\{\+(\w+)\}/g, ':$1{.+}').replace(/\{(\w+)\}/g, ':$1')
}

/** The path as OpenAPI writes it. */
export function openapiPath({ path }: Pick<Route, 'path'>): string {
  return path.replaceAll('{+', '{')
}

/** Middleware: reads the body, up to its limit. */
export function parseBody({ caller, body, json }: Route): MiddlewareHandler {
  const { maxBytes } = body ?? json ?? {}
  if (maxBytes === undefined) return (_c, next) => next()
  return caller === 'link' ? limitForm(maxBytes) : limit(maxBytes)
}

/** Calls `work` when it is the asker's turn, or refuses. */
type InTurn = <Result>(c: Context, work: () => Promise<Result>) => Promise<Result | Response>

/** Parses what the request brings, `inTurn`, and calls the handler. */
export function serve<Needs>(
  route: Route<Needs>,
  shared: Needs,
  inTurn: InTurn = (_c, work) => work(),
): (c: Context) => Promise<Response> {
  const handle = route.handler(shared) as Handler<Input<string, z.ZodType, z.ZodType>>
  return async (c) => {
    const query = readQuery(c, route.query)
    if ('refusal' in query) return problem(c, 400, 'query_invalid', query.refusal)
    const body = route.json === undefined ? undefined : await readJson(c, route.json, inTurn)
    if (body instanceof Response) return body
    return handle(c, { params: c.req.param(), query: query.query, body })
  }
}

async function readJson(c: Context, json: JsonBody<z.ZodType>, inTurn: InTurn) {
  const text = await c.req.text()
  return inTurn(c, async () => parsed(c, json, text))
}

function parsed(
  c: Context,
  { schema, code, example, isOptional }: JsonBody<z.ZodType>,
  text: string,
) {
  const json = isOptional && text === '' ? {} : parseJson(text)
  const read = schema.safeParse(json, { error: describeRemedy })
  if (read.success) return read.data
  const detail =
    json === undefined
      ? `the body is not JSON; send ${example}`
      : describeIssues(read.error, json).join('\n')
  return problem(c, 400, code, detail)
}
