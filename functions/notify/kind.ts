// The interface of a kind of channel: its configuration and its notifiers. To add a kind, add a
// file beside this one and a line in index.ts.
import * as z from 'zod'
import { identifier, object } from '../schema/checks.ts'
import type { Notifier } from './notifier.ts'

export interface Kind<Schema extends z.ZodType<{ kind: string }>> {
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
