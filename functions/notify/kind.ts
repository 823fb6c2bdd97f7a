// What one kind of channel is: what an owner writes of it, and who sends. Add a kind: one file beside this,
// one line in index.ts.
import { z } from 'zod'
import { identifier, object } from '../schema/checks.ts'
import type { Notifier } from './notifier.ts'

export interface Kind<Schema extends z.ZodType<{ kind: string }>> {
  /** Of its entry under `channels`: the address is called `url` or `endpoint`. */
  schema: Schema
  /** Keys whose texts may be shown, besides those of every kind; any other text is a secret. */
  open?: readonly string[]
  /**
   * By key: a text of the right form, made of a variable's name, for checks where the environment lacks it.
   * `url`, `endpoint` and `secret` have one already.
   */
  placeholders?: Record<string, (name: string) => string>
  /** One for each kind that comes out of the schema: two ways to one service may be two inside. */
  notifiers: {
    [Name in z.output<Schema>['kind']]: Notifier<Extract<z.output<Schema>, { kind: Name }>>
  }
}

/** The entry of a kind, with what every kind has. */
export function entry<const Name extends string, Shape extends z.ZodRawShape>(
  name: Name,
  shape: Shape,
) {
  return object({
    kind: z.literal(name).describe('Which kind of channel it is; each has keys of its own.'),
    ...shape,
    fallback: identifier
      .optional()
      .describe(
        'Another channel, which is told what this one refuses, or has not taken after two minutes.',
      ),
  })
}
