// The interface of a kind of channel: its configuration and its notifiers. To add a kind, add a
// file beside this one and a line in index.ts.
import * as z from 'zod'
import type { ServiceApps } from '../core/rules/config.ts'
import { identifier, object } from '../schema/checks.ts'
import type { ButtonSupport, Notifier } from './notifier.ts'

/** A service's own addresses. A check finds a channel of another kind there. */
interface Site {
  /** The name of the service. */
  name: string
  host: RegExp
  /** Whether a channel of this kind can be there. */
  takes(kind: string, url: URL): boolean
  /** What to write for a channel there. */
  remedy: string
  /** What is wrong with an address there, for a channel of this kind: why, and what to write. */
  mistake?(kind: string, url: URL): string | undefined
}

/** A service whose messages may have buttons that decide, and what the configuration must have for them. */
export interface ButtonService extends Omit<ButtonSupport, 'isEdited'> {
  /** The channel that a route with such buttons needs. */
  needs: string
  /** Whether messages in such a channel, as the owner wrote it, may have buttons. */
  mayBeIn(channel: { channelId?: unknown }): boolean
  /** The app that proves who pressed a button: its key at the top of the configuration, and the keys in it. */
  app?: { key: keyof ServiceApps; keys: string }
  /**
   * How an owner writes a person of this service after `how:`, in short, as an expression and as advice. Absent: a
   * person of Entra.
   */
  person?: { written: string; form: string; rule: string }
}

export interface Kind<Schema extends z.ZodType<{ kind: string }>> {
  /** What people call the service. */
  name: string
  sites?: readonly Site[]
  buttons?: ButtonService
  /** The schema of an entry under `channels`. The key of an address is `url` or `endpoint`. */
  schema: Schema
  /** Further keys whose texts are no secrets, unless they look random. Any other text is one. */
  open?: readonly string[]
  /** Keys whose texts look random, and are no secrets. */
  ids?: readonly string[]
  /** What requests make of several secrets, as they carry it: a server may repeat it. */
  joined?(channel: z.output<Schema>): string[]
  /**
   * Functions by key: each makes a valid text from a variable's name, so that a check needs no
   * environment. `url`, `endpoint` and `secret` have one already.
   */
  placeholders?: Record<string, (name: string) => string>
  /** One for each kind in the schema's output, which may split a service into several. */
  notifiers: {
    [Name in z.output<Schema>['kind']]: Notifier<Extract<z.output<Schema>, { kind: Name }>>
  }
}

/**
 * Channels under a key of their own in the configuration, by name. Each hears of every step by itself: no route names
 * it, and it has no fallback. Elsewhere it is called `key:name`.
 */
export interface ChannelGroup {
  /** What the key is for, for editors. */
  about: string
  most: number
  kinds: Record<
    string,
    { name: string; schema: z.ZodType; notifiers: Record<string, Notifier<never>> }
  >
}

/** The schema of a kind's entry, with the keys of every kind. */
export function entry<const Name extends string, Shape extends z.ZodRawShape>(
  name: Name,
  shape: Shape,
) {
  return object({
    kind: z.literal(name).describe('The kind of the channel, which has its own keys.'),
    ...shape,
    fallback: identifier
      .optional()
      .describe(
        'Another channel. It gets messages that this one refuses or does not accept within two minutes, ' +
          'or within half of the time to NotBefore if that is shorter.',
      ),
  })
}
