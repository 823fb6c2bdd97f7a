// Fills in a template: JSON whose texts contain `{{placeholders}}`. A value becomes part of a text, so
// no name from outside can change the form of a body.
import { linkless } from '../../../shared/presentable.ts'
import type { Severity } from '../../core/rules/severity.ts'
import { quoted } from '../../schema/checks.ts'
import { didYouMean } from '../../schema/suggest.ts'
import type { Outgoing } from '../notifier.ts'
import { bytesIn, cutToBytes } from './bytes.ts'
import { type Clock, eventField, eventFields, placeholders } from './placeholders.ts'

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** The words and limits of a service. */
export interface Dialect extends Clock {
  settings: Record<string, string>
  severities: Partial<Record<Severity, string | number>>
  /** What replaces a character that the service would read as a mark. */
  replace: Record<string, string>
  /** Bytes of UTF-8, by the path of a field without the places in lists: `records.description`. */
  limits: Record<string, number>
}

interface Filling {
  outgoing: Outgoing
  dialect: Dialect
  /** The key of the incident, if the channel opens incidents. */
  key: string | undefined
}

/** The limit of a field that `limits` does not name. */
const usualLength = 4_000
/** If a field is too long, its names and sentences are cut to this part of their length, again and again. */
const shrink = 0.85

const inBraces = /\{\{([^{}]*)\}\}/g
const known = [
  ...Object.keys(placeholders),
  ...eventFields.map((name) => `event.${name}`),
  'settings.NAME',
]

/** Undefined for a text that became empty: its field is left out. */
export function fill(template: Json, filling: Filling, path = ''): Json | undefined {
  if (typeof template === 'string') return fillText(template, filling, path)
  if (typeof template !== 'object' || template === null) return template
  if (Array.isArray(template)) {
    const parts = template.map((part) => fill(part, filling, path))
    return parts.filter((part) => part !== undefined)
  }
  const fields = Object.entries(template).map(([name, part]) => {
    return [name, fill(part, filling, path === '' ? name : `${path}.${name}`)] as const
  })
  return Object.fromEntries(fields.filter(([, part]) => part !== undefined)) as Json
}

function fillText(template: string, filling: Filling, path: string): Json | undefined {
  const most = filling.dialect.limits[path] ?? usualLength
  const only = namesIn(template).find((name) => template === `{{${name}}}`)
  const value = only === undefined ? '' : valueFor(only, filling, most)
  if (typeof value === 'number') return value
  let text = ''
  for (let length = most; length > 1; length = Math.floor(length * shrink)) {
    const filled = template.replace(inBraces, (_, name) => String(valueFor(name, filling, length)))
    text = filled.replace(/\n{3,}/g, '\n\n').trim()
    if (bytesIn(text) <= most) break
  }
  return text === '' && template !== '' ? undefined : cutToBytes(text, most)
}

function valueFor(name: string, filling: Filling, length: number): string | number {
  const { outgoing, key } = filling
  const { settings, severities, replace } = filling.dialect
  const setting = settings[name.replace('settings.', '')]
  if (name.startsWith('settings.') && setting !== undefined) return setting
  const own = placeholders[name]
  const text =
    own?.of(outgoing, key, length, filling.dialect) ??
    eventField(outgoing, name.replace('event.', ''))
  if (name === 'severity') return severities[text as Severity] ?? text
  if (own !== undefined && !own.isText) return text
  return linkless(cutToBytes(text, length)).replace(/./gsu, (one) => replace[one] ?? one)
}

/** Every text of a template, with its path. */
export function textsIn(template: unknown, path: PropertyKey[] = []): [PropertyKey[], string][] {
  if (typeof template === 'string') return [[path, template]]
  if (typeof template !== 'object' || template === null) return []
  const parts = Array.isArray(template) ? [...template.entries()] : Object.entries(template)
  return parts.flatMap(([at, part]) => textsIn(part, [...path, at]))
}

/** `records.description`: without the places in lists. */
export function readField(path: PropertyKey[]): string {
  return path.filter((part) => typeof part === 'string').join('.')
}

/** Bytes of the longest link that fits each field of a body that has one. */
export function roomForLink(body: Json, limits: Dialect['limits']): number {
  const fields = textsIn(body).filter(([, text]) => namesIn(text).includes('page'))
  return Math.min(...fields.map(([path]) => limits[readField(path)] ?? usualLength))
}

export function namesIn(text: string): string[] {
  return [...text.matchAll(inBraces)].map(([, name = '']) => name)
}

export function settingsIn(text: string): string[] {
  const names = namesIn(text).filter((name) => name.startsWith('settings.'))
  return names.map((name) => name.replace('settings.', ''))
}

/** What is wrong with a placeholder, or undefined. */
export function whyUnknown(name: string): string | undefined {
  if (known.includes(name) || /^settings\.[\w-]+$/.test(name)) return undefined
  return `there is no placeholder {{${name}}}; write one of ${quoted(known)}${didYouMean(name, known)}`
}

/** Fills in settings alone, for an address or a header. */
export function withSettings(
  text: string,
  settings: Record<string, string>,
  encode = (value: string) => value,
): string {
  const valueFor = (name: string) => settings[name.replace('settings.', '')] ?? ''
  return text.replace(inBraces, (_, name) => encode(valueFor(name)))
}
