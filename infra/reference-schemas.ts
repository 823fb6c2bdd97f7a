// Rows of the documentation about webhooks, made from the schemas that the relay publishes.
import { eventSchemaAddress } from '../functions/core/message/cloud-event.ts'
import { eventExamples } from '../functions/schema/event-examples.ts'
import type { JsonSchema } from '../functions/schema/json-schema.ts'

const data = eventExamples.completed

const envelope = {
  specversion: '1.0',
  id: `prod/${data.eventId}/1/completed/inventory`,
  source: '/fleets/prod',
  type: 'foghorn.event.completed',
  time: data.endedAt,
  subject: data.eventId,
  datacontenttype: 'application/json',
  dataschema: `https://foghorn.example.com${eventSchemaAddress}`,
}

const maxLine = 100

/** A whole body. Its bytes have no blanks, and here it has some so that people can read it. */
export function exampleBody(): string {
  const inner = packed(data, '    ')
  return `{\n${packed(envelope, '  ')},\n  "data": {\n${inner}\n  }\n}`
}

/** Writes as many fields on a line as fit. */
function packed(value: object, indent: string): string {
  const lines: string[] = []
  for (const [name, part] of Object.entries(value)) {
    const text = `"${name}": ${JSON.stringify(part, null, 1).replace(/\n */g, ' ')}`
    const line = `${lines.at(-1)}, ${text}`
    if (lines.length > 0 && line.length < maxLine) lines[lines.length - 1] = line
    else lines.push(indent + text)
  }
  return lines.join(',\n')
}

/** A row for each field, with the fields within it. */
export function fieldRows({ properties = {}, required = [] }: JsonSchema): string[][] {
  return Object.entries(properties).map(([name, field]) => {
    const schema = field as JsonSchema
    const { description } = schema
    if (description === undefined) throw new Error(`describe the field "${name}" in its schema`)
    const always = required.includes(name) ? '' : '?'
    return [
      `\`${name}\`${always}`,
      [description, describeValues(schema), describeWithin(schema)].join('').trim(),
    ]
  })
}

function describeValues({ enum: values = [] }: JsonSchema): string {
  return values.length === 0 ? '' : ` ${values.map((value) => `\`${value}\``).join(', ')}`
}

/** The fields of an object, or of the objects in a list. */
function describeWithin(schema: JsonSchema): string {
  const inner = (schema.items ?? schema) as JsonSchema
  const names = Object.keys(inner.properties ?? {}).map((name) => {
    return `\`${name}\`${inner.required?.includes(name) ? '' : '?'}`
  })
  if (names.length === 0) return ''
  return ` ${schema.items ? 'Each has' : 'It has'} ${names.join(', ')}.`
}
