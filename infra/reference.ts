// Makes the reference tables of the documentation from the code: its schemas, constants, and names
// in its source. A document has a table between `<!-- generated: NAME -->` and `<!-- /generated
// -->`.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { drainVariables } from '../beacon/kubernetes/settings.ts'
import { variables } from '../beacon/variables.ts'
import { tryEvent } from '../functions/cli/check-config.ts'
import { readConfigWith } from '../functions/config/config.ts'
import { configSchema } from '../functions/config/schema.ts'
import { moments } from '../functions/core/event/moment.ts'
import { severities } from '../functions/core/rules/severity.ts'
import { metricTexts } from '../functions/features/texts.ts'
import { eventFields, placeholders } from '../functions/notify/http/placeholders.ts'
import { presets } from '../functions/notify/http/presets.ts'
import { groups } from '../functions/notify/registry.ts'
import { alertSchema, eventSchema, type JsonSchema } from '../functions/schema/json-schema.ts'
import packageJson from '../package.json' with { type: 'json' }
import { codesIn, eventsIn, type LogEvent, settingsIn } from './reference-scan.ts'
import { exampleBody, fieldRows } from './reference-schemas.ts'
import {
  beaconEvents,
  momentTexts,
  problemCodes,
  relayEvents,
  relaySettings,
} from './reference-texts.ts'

const root = join(import.meta.dirname, '..')

/** The text for each marker, by NAME. */
export const makers: Record<string, () => string> = {
  'beacon-settings': () => settingsTable(variables),
  'drain-settings': () => settingsTable(drainVariables),
  'relay-settings': () => {
    const names = settingsIn(read('functions/host') + file('functions/config/hosts.ts'))
    return settingsTable(described(names, relaySettings, 'setting of the relay'))
  },
  'config-keys': () => keysTable(listKeys(configJson())),
  'config-match': () => keysTable(listKeys(routeJson().properties!.match!)),
  'channel-keys': () => kindsTable('channels', (kind) => kind !== 'http'),
  'ship-keys': () => kindsTable('ship'),
  'http-keys': () => kindsTable('channels', (kind) => kind === 'http'),
  'http-presets': () => presetsTable(),
  'http-placeholders': () => placeholdersTable(),
  moments: () =>
    table(
      ['moment', 'when'],
      moments.map((one) => [code(one), momentTexts[one]]),
    ),
  severities: () => severitiesTable(),
  metrics: () =>
    table(
      ['metric', 'labels', 'type', 'meaning'],
      metricTexts.map(({ name, labels, type, help }) => {
        return [code(name), labels.map(code).join(' '), type, help]
      }),
    ),
  'relay-events': () => eventsTable(eventsIn(read('functions')), relayEvents),
  'beacon-events': () => eventsTable(eventsIn(read('beacon')), beaconEvents),
  'problem-codes': () => codesTable(),
  'example-minimal': () => example('infra/examples/minimal.config.json'),
  'example-full': () => example('infra/examples/full.config.json'),
  'webhook-body': () => fenced('json', exampleBody()),
  'event-data': () => fieldsTable(eventSchema('')),
  'alert-data': () => fieldsTable(alertSchema('')),
  'receiver-typescript': () => fenced('ts', file('infra/examples/receiver.ts')),
  'approve-drained': () => fenced('ts', file('infra/examples/approve-drained.ts')),
  'receiver-python': () => fenced('python', file('infra/examples/receiver.py')),
  'deploy-button': () => deployButton(packageJson),
  'dry-run': () => dryRun({ type: 'Reboot', resource: ['web_3'], tag: ['role=web'] }),
}

/**
 * The portal reads the template at a public address. So there is no button until package.json names the
 * repository, as `github:OWNER/NAME`. The tag is `v` and the version.
 */
export function deployButton({ repository, version }: { repository?: string; version: string }) {
  if (repository === undefined) return ''
  const name = repository.replace(/^github:/, '')
  const template = `https://raw.githubusercontent.com/${name}/v${version}/infra/azure/main.json`
  const portal = `https://portal.azure.com/#create/Microsoft.Template/uri/${encodeURIComponent(template)}`
  return `[![Deploy to Azure](https://aka.ms/deploytoazurebutton)](${portal})`
}

const markers =
  /(<!-- generated: ([\w-]+) -->\n)([\s\S]*?)(<!-- (?:\/generated|generated: [\w-]+) -->|$)/g

/**
 * The document with the text of each maker between its markers. Throws if a marker has no maker or
 * no end.
 */
export function fillGenerated(text: string, made: Record<string, () => string>): string {
  return text.replaceAll(markers, (_, begin: string, name: string, _old, end: string) => {
    const make = Object.hasOwn(made, name) ? made[name] : undefined
    if (make === undefined) throw new Error(`no maker is called "${name}"`)
    if (!end.includes('/generated')) throw new Error(`"${name}" has no <!-- /generated -->`)
    const content = make().trim()
    return content === '' ? `${begin}${end}` : `${begin}\n${content}\n\n${end}`
  })
}

/** The README and the documents in docs, filled, by path. */
export function filledDocuments(): Record<string, string> {
  const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  const paths = ['README.md', ...pages.sort().map((name) => `docs/${name}`)]
  return Object.fromEntries(
    paths.map((path) => [path, fillGenerated(readFileSync(join(root, path), 'utf8'), makers)]),
  )
}

/** A markdown table. Bars in cells are escaped. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function code(text: string): string {
  return text === '' ? '' : `\`${text}\``
}

/** The texts of these names. Throws if a name has no text, or a text has no name. */
export function described<Text>(
  names: Iterable<string>,
  texts: Record<string, Text>,
  what: string,
): Record<string, Text> {
  const found = new Set(names)
  const missing = [...found].filter((name) => !Object.hasOwn(texts, name))
  const left = Object.keys(texts).filter((name) => !found.has(name))
  if (missing.length > 0) {
    throw new Error(`infra/reference-texts.ts: describe each ${what}: ${missing.join(', ')}`)
  }
  if (left.length > 0) {
    throw new Error(`infra/reference-texts.ts: the code has no such ${what}: ${left.join(', ')}`)
  }
  return texts
}

/** The text of all TypeScript files of a folder. */
function read(folder: string): string {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  const sources = files.filter((file) => file.endsWith('.ts')).sort()
  return sources.map((file) => readFileSync(join(root, folder, file), 'utf8')).join('\n')
}

function example(path: string): string {
  return fenced('json', file(path))
}

function file(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trim()}\n\`\`\``
}

/** The output of check-config for this event with the full example. */
function dryRun(event: Parameters<typeof tryEvent>[1]): string {
  const { config } = readConfigWith(file('infra/examples/full.config.json'), {}, 'assumed')
  let printed = ''
  const print = (text: string) => {
    printed += text
  }
  tryEvent(config, event, { print })
  return fenced('', printed)
}

function fieldsTable(schema: JsonSchema): string {
  return table(['field', 'meaning'], fieldRows(schema))
}

function settingsTable(settings: Record<string, { usual: string; about: string }>): string {
  const rows = Object.entries(settings).map(([name, { usual, about }]) => [
    code(name),
    code(usual),
    about,
  ])
  return table(['variable', 'default', ''], rows)
}

type Json = z.core.JSONSchema.JSONSchema & {
  properties?: Record<string, Json>
  required?: string[]
}

function configJson(): Json {
  return z.toJSONSchema(configSchema, { io: 'input', target: 'draft-7' }) as Json
}

function routeJson(): Json {
  return (configJson().properties!.routes as { items: Json }).items
}

interface Key {
  path: string
  isRequired: boolean
  schema: Json
}

/** Lists every key of the file, except those of kinds and `match`, which have separate tables. */
function listKeys({ properties = {}, required = [] }: Json, prefix = ''): Key[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = `${prefix}${name}`
    const key = { path, isRequired: required.includes(name), schema }
    if (['channels', ...groups].includes(name) && prefix === '') return [key]
    if (name === 'match') return [key]
    return [key, ...listKeys(schema, `${path}.`), ...keysWithin(schema, path)]
  })
}

/** The keys of a record's values and of a list's objects. */
function keysWithin({ additionalProperties, items }: Json, path: string): Key[] {
  const named = typeof additionalProperties === 'object' ? (additionalProperties as Json) : {}
  const listed = typeof items === 'object' ? (items as Json) : {}
  return [...listKeys(named, `${path}.<name>.`), ...listKeys(listed, `${path}[].`)]
}

function keysTable(keys: Key[]): string {
  const rows = keys.map(({ path, isRequired, schema }) => [
    code(path),
    isRequired ? 'required' : describeUsual(schema),
    schema.description ?? '',
  ])
  return table(['key', 'default', ''], rows)
}

function describeUsual(schema: Json): string {
  return schema.default === undefined ? '' : code(JSON.stringify(schema.default))
}

function kindsTable(part: string, isShown = (_kind: string) => true): string {
  const { oneOf = [] } = (configJson().properties![part]?.additionalProperties ?? {}) as Json
  const kinds = (oneOf as Json[]).filter(({ properties }) => {
    return isShown(String(properties!.kind!.const))
  })
  const rows = kinds.flatMap(({ properties = {}, required = [] }) => {
    const kind = String(properties.kind!.const)
    const own = Object.entries(properties).filter(([key]) => key !== 'kind' && key !== 'fallback')
    const all = own.flatMap(([key, schema]) => {
      const inner = Object.entries(schema.properties ?? {})
      return [[key, schema], ...inner.map(([name, one]) => [`${key}.${name}`, one])] as typeof own
    })
    return all.map(([key, schema]) => {
      const isRequired = required.includes(key)
      return [
        code(kind),
        code(key),
        isRequired ? 'required' : describeUsual(schema),
        schema.description ?? '',
      ]
    })
  })
  return table(['kind', 'key', 'default', ''], rows)
}

function presetsTable(): string {
  const rows = Object.entries(presets).map(([preset, { name, url, settings = {}, ...rest }]) => {
    const [acknowledged, resolved] = [rest.acknowledge, rest.resolve].map(Boolean)
    const what = acknowledged ? 'an incident, acknowledged' : 'an incident'
    const written = Object.entries(settings).map(([key, text]) => `${code(key)}: ${text}`)
    const address = url === undefined ? ['its address as `url`'] : []
    const cells = [code(preset), name, resolved ? what : 'messages']
    const words = Object.values((rest.severities ?? {}) as object).join(', ')
    return [...cells, [...address, ...written].join('; '), words]
  })
  const head = ['`preset`', 'service', 'an event is', 'you write, under `settings`', 'severities']
  return table(head, rows)
}

function placeholdersTable(): string {
  const own = Object.entries(placeholders).map(([name, { about }]) => [`{{${name}}}`, about])
  const fields = eventFields.map((name) => code(name)).join(', ')
  const further = [
    ['{{event.NAME}}', `A field of the event [in webhooks](webhooks.md): ${fields}.`],
    ['{{settings.NAME}}', 'What you wrote under `settings`. Also in `url` and `headers`.'],
  ]
  const rows = [...own, ...further].map(([name, about]) => [code(name!), about!])
  return table(['placeholder', ''], rows)
}

function severitiesTable(): string {
  const rows = Object.entries(severities).map(([type, { asked, otherwise, unannounced }]) => [
    type,
    ...[asked, otherwise, unannounced].map(code),
  ])
  const head = [
    'event',
    'people are asked',
    'decided, or a rule approves or only notifies',
    'no notice',
  ]
  return table(head, rows)
}

function eventsTable(events: LogEvent[], texts: Record<string, string>): string {
  const names = events.map(({ name }) => name)
  const about = described(names, texts, 'event of the log')
  const rows = events.map(({ name, level }) => [code(name), level, about[name]!])
  return table(['event', 'level', 'what happened'], rows)
}

function codesTable(): string {
  const folders = ['functions/http', 'functions/host', 'functions/notify']
  const sources = [
    ...folders.map(read),
    read('functions'),
    readFileSync(join(root, 'shared/report.ts'), 'utf8'),
  ]
  const codes = [...codesIn(sources.join('\n'))].filter((name) => name !== 'custom').sort()
  const about = described(codes, problemCodes, 'code of an error')
  const rows = codes.map((name) => [code(name), about[name]!.status, about[name]!.about])
  return table(['code', 'status', ''], rows)
}
