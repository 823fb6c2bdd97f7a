// The schemas that outsiders read, as JSON Schema, made from those that check values here.
import * as z from 'zod'
import { readItem } from '../../shared/bounded.ts'
import { eventSchemaAddress } from '../core/message/cloud-event.ts'
import { alertDataSchema, alertSchemaAddress } from './alert.ts'
import { eventDataSchema } from './event.ts'
import { alertExamples, eventExamples } from './event-examples.ts'

export type JsonSchema = z.core.JSONSchema.JSONSchema

/** `accepted`: what a request may contain. `sent`: what an answer contains, to which fields may be added. */
export type Use = 'accepted' | 'parsed' | 'sent'

/**
 * Returns JSON Schema 2020-12. With `parsed`, a parameter of an address has the type that it is read as.
 * With `sent`, the form of times is left out, because `format` names it.
 */
export function toJsonSchema(schema: z.core.$ZodType, use: Use): JsonSchema {
  return z.toJSONSchema(schema, {
    io: use === 'parsed' ? 'output' : 'input',
    override: ({ zodSchema, jsonSchema }) => {
      const item = readItem(zodSchema)
      if (item !== undefined) jsonSchema.items = withoutDialect(item, use)
      if (use === 'accepted') return
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (use === 'sent' && jsonSchema.format === 'date-time') delete jsonSchema.pattern
    },
  })
}

export function eventSchema(publicUrl: string): JsonSchema {
  const description =
    'The `data` of a webhook about an event, as it was at that moment. Unknown fields are absent. ' +
    'New fields may be added: ignore those that you do not know.'
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `${publicUrl}${eventSchemaAddress}`,
    title: 'Foghorn event',
    description,
    ...withoutDialect(eventDataSchema),
    examples: Object.values(eventExamples),
  }
}

export function alertSchema(publicUrl: string): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `${publicUrl}${alertSchemaAddress}`,
    title: 'Foghorn alert',
    description: 'The `data` of a webhook about Foghorn itself. New fields may be added.',
    ...withoutDialect(alertDataSchema),
    examples: alertExamples,
  }
}

function withoutDialect(schema: z.core.$ZodType, use: Use = 'sent') {
  const { $schema: _, ...rest } = toJsonSchema(schema, use)
  return rest
}
