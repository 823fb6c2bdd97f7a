// Values that a JSON Schema allows, and values that are nearly so: for property tests of requests.
// It reads the keywords that the schemas of requests have, and throws at any other.
import fc, { type Arbitrary } from 'fast-check'

type Json = ReturnType<typeof JSON.parse>

const known = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'propertyNames',
  'maxProperties',
  'items',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'enum',
  'const',
  'anyOf',
  'format',
  'pattern',
  'default',
  'description',
])

/** Lists and objects have few entries, whatever the schema allows. */
const maxEntries = 2
const maxText = 12

/** Values that the schema allows, apart from what only a `pattern` says. */
export function allowedBy(schema: Json): Arbitrary<Json> {
  const unknown = Object.keys(schema).filter((keyword) => !known.has(keyword))
  if (unknown.length > 0) throw new Error(`the schema has keywords that are new: ${unknown}`)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(allowedBy))
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  return (kinds[schema.type] ?? (() => fc.jsonValue()))(schema)
}

const kinds: Record<string, (schema: Json) => Arbitrary<Json>> = {
  null: () => fc.constant(null),
  boolean: () => fc.boolean(),
  string: ({ format, minLength = 0, maxLength = maxText }) => {
    if (format === 'date-time') return times
    const most = Math.max(minLength, Math.min(maxLength, maxText))
    const few = fc.string({ minLength, maxLength: most })
    return maxLength > 300 ? few : fc.oneof(few, fc.constantFrom('x'.repeat(maxLength)))
  },
  integer: ({ minimum, maximum }) => fc.integer({ ...bounds(minimum, maximum) }),
  number: ({ minimum, maximum }) =>
    fc.double({ ...bounds(minimum, maximum), noNaN: true, noDefaultInfinity: true }),
  array: ({ items = {}, minItems = 0 }) =>
    fc.array(allowedBy(items), { minLength: minItems, maxLength: minItems + maxEntries }),
  object: objects,
}

const times = fc
  .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString())

function bounds(min = -(2 ** 31), max = 2 ** 31 - 1) {
  return { min: Math.max(min, -(2 ** 31)), max: Math.min(max, 2 ** 31 - 1) }
}

function objects({ properties = {}, required = [], additionalProperties }: Json): Arbitrary<Json> {
  const parts = Object.entries(properties).map(([name, part]) => [name, allowedBy(part)])
  const own = fc.record(Object.fromEntries(parts), { requiredKeys: required })
  if (typeof additionalProperties !== 'object') return own
  const names = fc
    .string({ minLength: 1, maxLength: maxText })
    .filter((name) => name !== '__proto__')
  const free = fc.dictionary(names, allowedBy(additionalProperties), { maxKeys: maxEntries })
  return fc.tuple(own, free).map(([some, others]) => ({ ...others, ...some }))
}

/** The value with one part replaced, removed or added. The schema may allow it or not. */
export function nearly(values: Arbitrary<Json>): Arbitrary<Json> {
  const change = fc.tuple(fc.nat(), fc.constantFrom('replace', 'remove', 'add'), oddities)
  return fc.tuple(values, change).map(([value, [at, how, odd]]) => {
    const copy = structuredClone(value)
    const places = placesIn(copy)
    if (places.length === 0) return odd
    const { parent, key } = places[at % places.length]!
    if (how === 'add' && !Array.isArray(parent)) parent.added = odd
    else if (how === 'remove' && !Array.isArray(parent)) delete parent[key]
    else parent[key] = odd
    return copy
  })
}

const oddities = fc.oneof(
  fc.jsonValue({ maxDepth: 1 }),
  fc.constantFrom<Json>(
    '',
    'x'.repeat(257),
    'drill-1',
    'ALERT-1',
    'Test-1',
    '2026-11-21',
    -1,
    0.5,
    2 ** 53,
  ),
)

function placesIn(value: Json): { parent: Json; key: string | number }[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.keys(value).flatMap((key) => [{ parent: value, key }, ...placesIn(value[key])])
}
