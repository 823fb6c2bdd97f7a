// The configuration of kind `http`. A preset gives the keys that the owner does not write. The output is
// one of two kinds, as messages and incidents have different rates.
import * as z from 'zod'
import { defined } from '../../../shared/json.ts'
import { isWebUrl, listChoices, object, quoted, webRule, webUrl } from '../../schema/checks.ts'
import { didYouMean } from '../../schema/suggest.ts'
import { entry } from '../kind.ts'
import { timeZone } from '../time-zone.ts'
import { unixIn } from './placeholders.ts'
import { type Preset, presets } from './presets.ts'
import {
  type Dialect,
  type Json,
  namesIn,
  readField,
  settingsIn,
  textsIn,
  whyUnknown,
  withSettings,
} from './template.ts'

const maxEntries = 50
const maxSetting = 1_024
const maxFieldLength = 100_000
/** A link of one event with names of the usual length is shorter. */
const linkLength = 512

/** A text that a header can have: a secret from a file must have no line break at its end. */
const printable = /^[\x21-\x7e]([\x20-\x7e]{0,1022}[\x21-\x7e])?$/
const printableRule =
  'write printable ASCII characters, at most 1024, without a blank or a line break at either end'
const texts = z.record(z.string().min(1).max(64), z.string().regex(printable, printableRule))
/** These headers say how the request is sent, which is not the owner's to say (RFC 9110, 7.6.1; RFC 9112). */
const ofTheClient =
  /^(host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|proxy-.+)$/i
const headers = z.record(
  z
    .string()
    .regex(/^[\w-]{1,64}$/, 'the name of a header has letters, digits and "-"')
    .refine((name) => !ofTheClient.test(name), { error: 'the relay writes this header itself' }),
  z.string().regex(printable, printableRule),
)
const bodyRule = 'write the JSON that the service expects, an object in { } or a list in [ ]'
const body = z.union([z.record(z.string(), z.unknown()), z.array(z.unknown())], { error: bodyRule })
const query = texts.describe('Parameters that are added to the address.')

const further = (action: string) =>
  object({
    path: z
      .string()
      .regex(
        /^(?=\/)(\/[^/?#]+)*\/?$/,
        'write a path that begins with "/" and has no empty part; parameters belong under "query"',
      )
      .max(maxSetting)
      .optional()
      .describe('Added to the path of `url`.'),
    query: query.optional(),
    body: body.describe('Its JSON, with placeholders.'),
  })
    .optional()
    .describe(`The request that ${action} an incident.`)

const statusRule = 'write a status from 200 to 299'
const timeRule = `write a text that contains ${unixIn}, such as "<t:${unixIn}:f>"`
const severityRule = 'write the word of the service, a text or a number'
const severityWord = z.union([z.string().min(1).max(64), z.number()], severityRule)

const parts = entry('http', {
  preset: listChoices(Object.keys(presets) as [string, ...string[]])
    .optional()
    .describe(
      'A service for which Foghorn knows the other keys. Those that you write replace them.',
    ),
  url: webUrl.optional().describe('The address for requests. It is a secret.'),
  settings: texts
    .optional()
    .describe(
      'Secrets and other values that the preset or your template names as `{{settings.NAME}}`.',
    ),
  headers: headers.optional().describe('Headers of each request. They are secrets.'),
  query: query.optional(),
  body: body.optional().describe('The JSON of a message, with placeholders such as `{{title}}`.'),
  acknowledge: further('acknowledges'),
  resolve: further('resolves').describe(
    'The request that resolves an incident. With it, `body` opens one; without it, each moment is a message.',
  ),
  success: z
    .array(z.int(statusRule).min(200, statusRule).max(299, statusRule))
    .min(1)
    .max(maxEntries)
    .optional()
    .describe('Statuses of an accepted message. If left out: any 2xx.'),
  retryAfter: z
    .string()
    .max(64)
    .optional()
    .describe(
      'Where in the JSON of a refusal are the seconds to wait, such as `parameters.retry_after`.',
    ),
  limits: z
    .record(z.string(), z.int().min(1).max(maxFieldLength))
    .optional()
    .describe(
      'The longest text of a field in bytes of UTF-8, by its path. Leave out places in lists: `records.description`. Default: 4000.',
    ),
  time: z
    .string()
    .max(64)
    .refine((text) => text.includes(unixIn), { error: timeRule })
    .optional()
    .describe(
      `For \`{{local}}\`, if the service shows times by the reader's own clock: how. ${unixIn} stands for the seconds since 1970.`,
    ),
  timeZone,
  severities: object({
    critical: severityWord.describe('No notice: it happens at once.'),
    error: severityWord.describe('People are asked, and a restart or worse comes.'),
    warning: severityWord.describe('Somebody has decided, or it is a Freeze.'),
    info: severityWord.describe('Nobody has to look at once.'),
  })
    .optional()
    .describe("The service's words for `{{severity}}`: all of critical, error, warning and info."),
  replace: z
    .record(z.string().regex(/^.$/su, 'write one character'), z.string().max(8))
    .optional()
    .describe(
      'What replaces characters that the service would read as a mark, in names and sentences.',
    ),
})

export interface Request {
  path?: string | undefined
  query: Record<string, string>
  body: Json
}

interface Rest extends Request, Dialect {
  preset?: string | undefined
  /** The name of the preset's service. */
  service?: string
  headers: Record<string, string>
  success?: number[] | undefined
  retryAfter?: string | undefined
  fallback?: string | undefined
}

/** The address of a preset is no secret: only the settings in it are. */
export type Template = Rest & ({ url: string } | { endpoint: string })

export type Http = Template & { kind: 'http' }

export type HttpIncidents = Template & {
  kind: 'http_incidents'
  acknowledge?: Request | undefined
  resolve: Request
}

type Written = z.output<typeof parts>
type Say = (path: PropertyKey[], message: string) => void

export const httpSchema = parts
  .check(({ value, issues }) => {
    const say: Say = (path, message) => {
      issues.push({ code: 'custom', path, message, input: undefined })
    }
    const whole = withPreset(value)
    const address = withSettings(whole.url ?? '', whole.settings ?? {}, encodePart)
    if (whole.url === undefined && whole.body === undefined) {
      return say(['preset'], 'missing; name a preset, or write "url" and "body"')
    }
    if (!isWebUrl(address)) say(['url'], whole.url === undefined ? `missing; ${webRule}` : webRule)
    if (whole.body === undefined) say(['body'], `missing; ${bodyRule}, or name a "preset"`)
    if (whole.resolve !== undefined && !JSON.stringify(whole).includes('{{key}}')) {
      say(
        ['resolve'],
        'no text has {{key}}, by which the service joins what belongs together; add it',
      )
    }
    if (whole.acknowledge !== undefined && whole.resolve === undefined) {
      say(['acknowledge'], '"acknowledge" needs "resolve"; add "resolve", or remove "acknowledge"')
    }
    checkPlaceholders({ ...whole, headers: value.headers }, say)
    checkSettings(whole, say)
    checkLimits(value, whole, say)
  })
  .transform((value): Http | HttpIncidents => {
    const { kind, url = '', acknowledge, resolve, ...rest } = withPreset(value)
    const { settings = {}, headers = {}, query = {}, limits = {}, replace = {} } = rest
    const filled = Object.entries(headers).map(([name, text]) => [
      name,
      withSettings(text, settings),
    ])
    const address = withSettings(url, settings, encodePart)
    const template: Template = {
      ...rest,
      ...(rest.preset && { service: presets[rest.preset]!.name }),
      ...{ settings, query, limits, replace },
      severities: rest.severities ?? {},
      body: rest.body as Json,
      ...(value.url === undefined ? { endpoint: address } : { url: address }),
      headers: Object.fromEntries(filled),
    }
    if (resolve === undefined) return { ...template, kind }
    const ofStep = ({ query = {}, ...step }: NonNullable<Written['resolve']>): Request => {
      return { ...step, query, body: step.body as Json }
    }
    return {
      ...template,
      kind: 'http_incidents',
      ...(acknowledge && { acknowledge: ofStep(acknowledge) }),
      resolve: ofStep(resolve),
    }
  })

/** What the owner wrote, and what the preset adds. */
function withPreset(value: Written): Written {
  const { name: _, settings: __, ...added } = findPreset(value) ?? { name: '' }
  const written = Object.entries(value.headers ?? {})
  const own = Object.fromEntries(written.map(([name, text]) => [name.toLowerCase(), text]))
  const headers = { ...added.headers, ...own }
  return { ...added, ...(defined(value) as Written), headers }
}

function findPreset({ preset }: Written): Preset | undefined {
  return preset === undefined ? undefined : presets[preset]
}

/** The parts of a template in which placeholders have a meaning. */
function checkPlaceholders({ url, headers, ...rest }: Written, say: Say): void {
  const { query, body, acknowledge, resolve } = rest
  for (const [path, text] of textsIn({ query, body, acknowledge, resolve })) {
    for (const why of namesIn(text).flatMap((name) => whyUnknown(name) ?? [])) say(path, why)
  }
  for (const [path, key] of keysIn({ body, acknowledge, resolve })) {
    if (namesIn(key).length > 0) say(path, 'a placeholder belongs in a value, not in a key')
  }
  for (const [path, text] of textsIn({ url, headers })) {
    const other = namesIn(text).find((name) => !name.startsWith('settings.'))
    if (other !== undefined) {
      say(path, `{{${other}}} is not possible here; write {{settings.NAME}}, or a fixed text`)
    }
  }
}

/** The keys of all objects inside a value, with their paths. */
function keysIn(value: unknown, path: PropertyKey[] = []): [PropertyKey[], string][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) => [
    ...(Array.isArray(value) ? [] : [[path, key] as [PropertyKey[], string]]),
    ...keysIn(part, [...path, key]),
  ])
}

function checkSettings(whole: Written, say: Say): void {
  const { url, headers, query, body, acknowledge, resolve, settings = {} } = whole
  const all = textsIn({ url, headers, query, body, acknowledge, resolve })
  const needed = [...new Set(all.flatMap(([, text]) => settingsIn(text)))]
  for (const name of needed.filter((one) => settings[one] === undefined)) {
    const own = findPreset(whole)?.settings?.[name]
    const what = own === undefined ? `the template has {{settings.${name}}}` : `write ${own}`
    say(['settings'], `"${name}" is missing; ${what}`)
  }
  for (const name of Object.keys(settings).filter((one) => !needed.includes(one))) {
    const uses = needed.length === 0 ? '' : `; it uses ${quoted(needed)}`
    const what = `the template does not use this setting${uses}`
    say(['settings', name], what + didYouMean(name, needed))
  }
}

function checkLimits({ limits = {} }: Written, { body, ...whole }: Written, say: Say): void {
  const bodies = [body, whole.acknowledge?.body, whole.resolve?.body]
  const fields = bodies
    .flatMap((one) => textsIn(one))
    .map(([path, text]) => [readField(path), text])
  const known = [...new Set(fields.map(([name]) => name!))]
  for (const [name = '', text] of fields) {
    if (!text!.includes('{{page}}') || (limits[name] ?? linkLength) >= linkLength) continue
    say(
      ['limits', name],
      `the link is in this field, and is left out if it does not fit; write at least ${linkLength}`,
    )
  }
  for (const name of Object.keys(limits).filter((one) => !known.includes(one))) {
    const what = `the body has no such field; its fields are ${quoted(known)}`
    say(['limits', name], what + didYouMean(name, known))
  }
}

/** Encodes a part of a path. Telegram's tokens have a colon. */
function encodePart(text: string): string {
  return encodeURIComponent(text).replaceAll('%3A', ':')
}
