// An independent validator for the schemas that the relay publishes. It also rejects fields that a
// schema does not name: outsiders may get new fields, but none without a description.
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

type Json = ReturnType<typeof JSON.parse>

/** What is wrong with a value, or undefined. */
type Check = (value: unknown) => string | undefined

/** `as_published` accepts what outsiders must accept. */
export function checkOf(schema: object, how: 'as_published' | 'no_further_fields'): Check {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true })
  formats.default(ajv)
  const validate = ajv.compile(how === 'as_published' ? schema : closed(schema))
  return (value) =>
    validate(value) ? undefined : ajv.errorsText(validate.errors, { separator: '\n' })
}

/** For the schema at a place in an OpenAPI document, by the names on the way there. */
export function checkIn(
  document: object,
  place: string[],
  how: 'as_published' | 'no_further_fields',
): Check {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  const whole = how === 'as_published' ? document : closed(document)
  ajv.addSchema({ ...whole, $id: 'api' }, undefined, undefined, false)
  const pointer = place.map((name) => name.replaceAll('~', '~0').replaceAll('/', '~1'))
  const validate = ajv.compile({ $ref: `api#/${pointer.map(encodeURIComponent).join('/')}` })
  return (value) =>
    validate(value) ? undefined : ajv.errorsText(validate.errors, { separator: '\n' })
}

/** Each object has the fields in its schema and no others. */
function closed(value: Json): Json {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const parts = Object.fromEntries(Object.entries(value).map(([key, part]) => [key, closed(part)]))
  const isClosed = value.properties === undefined || value.additionalProperties !== undefined
  return isClosed ? parts : { ...parts, additionalProperties: false }
}
