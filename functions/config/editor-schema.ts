// The configuration's schema for editors: completion and a first check while you type. The relay
// checks more than JSON Schema can express, and its messages are better.
import * as z from 'zod'
import { configSchema } from './schema.ts'

type Json = z.core.JSONSchema.JSONSchema

const fromEnvironment = { type: 'string', pattern: '^env:[A-Za-z_]' } as const

/** Returns the schema of the configuration as JSON Schema draft 7, which editors support best. */
export function editorSchema(): Json {
  const schema = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-7' })
  const { $schema, ...rest } = loosened(schema)
  return { $schema, title: 'Configuration of the Foghorn relay', ...rest } as Json
}

/**
 * Any text may be `env:NAME`, so texts have no pattern or length here; names of keys keep theirs.
 * A `kind` from the environment fits every kind of channel, so `oneOf` becomes `anyOf`.
 */
function loosened(node: Json): Json {
  const { oneOf, pattern: _, format: _f, minLength: _l, maxLength: _m, ...rest } = node
  const walked = Object.fromEntries(
    Object.entries({ ...rest, ...(oneOf && { anyOf: oneOf }) }).map(([key, value]) => [
      key,
      within(key, value),
    ]),
  ) as Json
  if (walked.type !== 'string' || (walked.const ?? walked.enum) === undefined) return walked
  const { type, const: only, enum: values, ...about } = walked
  return { ...about, anyOf: [{ type, enum: values ?? [only!] }, fromEnvironment] }
}

function within(key: string, value: unknown): unknown {
  if (key === 'anyOf') return (value as Json[]).map(loosened)
  if (key === 'items' || key === 'additionalProperties') {
    return typeof value === 'object' ? loosened(value as Json) : value
  }
  if (key !== 'properties') return value
  const parts = Object.entries(value as Record<string, Json>)
  return Object.fromEntries(parts.map(([name, part]) => [name, loosened(part)]))
}
