import type { Scope } from '../../functions/core/rules/access.ts'
import type { World } from './world.ts'

// biome-ignore lint/suspicious/noExplicitAny: any JSON
type Json = any

interface Asked {
  path: string
  body?: unknown
}

/** What the tests of the API know of a feature. */
export interface ApiFeature {
  things?: ApiThings
  /** Each address with the scope that it needs, and a request about a fleet and a thing. */
  addresses?: Record<string, { scope: Scope; about(fleet: string, id: string): Asked | Asked[] }>
  /** Addresses that need the admin key. */
  ofAdmin?: string[]
  /** Asks for each kind of answer. `ask` compares the answer with the description of its operation. */
  answers?(
    ask: (
      operation: string,
      asked: { path: string; method?: string; body?: unknown },
      // biome-ignore lint/suspicious/noExplicitAny: as the description says
    ) => Promise<any>,
  ): Promise<void>
  /** Operations that answer with a document, which no schema describes. */
  documents?: string[]
  /** By path: what a request needs beside the parameter that is tried, and parameters that are not tried. */
  query?: Record<string, { usual: string; untried: string[] }>
  /** Bodies for an address, at a limit and beyond it. `{id}` stands for that of a thing. */
  bodies?: Record<
    string,
    /** `address`: that of a request. Default: the path. */
    {
      path: string
      address?: string
      method?: 'put' | 'patch'
      /** Of the answer to a wrong body. Default: by the name of the body. */
      code?: string
      limits?: object[]
      /** Replaces texts of which chance makes too few that are allowed. */
      fill?: (body: Json) => Json
      /** What JSON Schema cannot say, but the description does. */
      also?: (body: Json) => boolean
    }
  >
}

/** What people make of the feature by the API. */
interface ApiThings {
  /** Makes one for the fleet, with a token of the scope `manage`. */
  make(world: World, token: string, fleet: string): Promise<{ id: string }>
  /** Addresses that show them. `{id}` stands for its id. */
  lists: string[]
}
