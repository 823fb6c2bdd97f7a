// A part of the console that a feature brings.
import type { Context } from 'hono'
import type { Relay } from '../../use-cases/relay.ts'
import type { NowPart, Snapshots } from './snapshot.ts'
import type { Visitor } from './visitor.ts'

export type Show = (c: Context, visitor: Visitor) => Promise<Response>

export interface ConsolePart {
  /** Pages, and what their forms do, by path. */
  pages(
    relay: Relay,
    snapshots: Snapshots,
  ): { gets: Record<string, Show>; posts: Record<string, Show> }
  /** What "Now" says of it, read with the open events. */
  now(relay: Relay): Promise<NowPart>
}
