// A part of the console that a feature brings.
import type { Context } from 'hono'
import type { Html } from '../../pages/event.ts'
import type { Relay } from '../../use-cases/relay.ts'
import type { Snapshots } from './snapshot.ts'
import type { Visitor } from './visitor.ts'

/** What a feature shows below the channels. */
export type ChannelSection = (relay: Relay, visitor: Visitor) => Promise<Html>

export type Show = (c: Context, visitor: Visitor) => Promise<Response>

/** Pages, and what their forms do, by path. */
export type ConsolePart = (
  relay: Relay,
  snapshots: Snapshots,
) => { gets: Record<string, Show>; posts: Record<string, Show> }
