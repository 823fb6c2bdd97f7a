// Everything that is built from the list of kinds: schema, notifiers, masks of secrets.
import * as z from 'zod'
import { maskOf, maskTokens } from '../../shared/mask.ts'
import { looksSecret } from '../../shared/presentable.ts'
import { fromBase64 } from '../../shared/signature.ts'
import { cut } from '../../shared/text.ts'
import { channelGroups } from '../features/channel-groups.ts'
import { identifier, isWebUrl, quoted } from '../schema/checks.ts'
import { didYouMean } from '../schema/suggest.ts'
import * as index from './index.ts'
import type { ButtonService, ChannelGroup, Kind } from './kind.ts'
import type { Named, Notifier } from './notifier.ts'

export { appSecrets, apps } from './apps.ts'
export type { ButtonService }

type RoutedSchema = (typeof index)[keyof typeof index]['schema']
type Groups = typeof channelGroups
type SchemaOf<One> = One extends { schema: infer Own } ? Own : never
type SchemaIn<Group> = Group extends { kinds: infer Kinds } ? SchemaOf<Kinds[keyof Kinds]> : never
type GroupedSchema = SchemaIn<Groups[keyof Groups]>
type Schema = RoutedSchema | GroupedSchema

/** A channel as the owner configured it: secrets are in clear. */
export type Channel = z.output<RoutedSchema> | (z.output<GroupedSchema> & { fallback?: undefined })
export type ChannelOf<Name extends Channel['kind']> = Extract<Channel, { kind: Name }>
export type Notifiers = { [Name in Channel['kind']]: Named<Notifier<ChannelOf<Name>>> }

type Described = Omit<Kind<never>, 'schema' | 'notifiers'>

const allGroups = Object.entries<ChannelGroup>(channelGroups)
const kinds = [...Object.values(index), ...allGroups.flatMap(([, one]) => Object.values(one.kinds))]

/** The kinds as an owner writes them. */
export const kindNames = Object.keys(index)

/** The services whose messages may have buttons that decide. */
export const buttonServices = kinds.flatMap((kind: Described) => kind.buttons ?? [])

/** The addresses of known services. */
export const sites = kinds.flatMap((kind: Described) => kind.sites ?? [])

/** An entry of `channels`. */
export const channelSchema = readKind(
  Object.values(index).map(({ schema }) => schema) as [RoutedSchema, ...RoutedSchema[]],
  kindNames,
)

/** The keys of groups in the configuration. */
export const groups = Object.keys(channelGroups) as (keyof Groups)[]

/** The groups' entries, by the key of the group. */
export const groupSchemas = Object.fromEntries(
  allGroups.map(([key, group]) => [key, readGroup(group)]),
) as unknown as {
  [Key in keyof Groups]: z.ZodOptional<
    z.ZodRecord<z.ZodString, z.ZodType<z.output<SchemaIn<Groups[Key]>>>>
  >
}

function readGroup({ about, most, kinds }: ChannelGroup) {
  const all = Object.values(kinds)
  const one = readKind(
    all.map(({ schema }) => schema) as [GroupedSchema, ...GroupedSchema[]],
    all.flatMap(({ notifiers }) => Object.keys(notifiers)),
  )
  return z
    .record(identifier, one)
    .refine((some) => Object.keys(some).length <= most, { error: `write at most ${most} of them` })
    .optional()
    .describe(about)
}

function readKind<Some extends Schema>(schemas: [Some, ...Some[]], names: string[]) {
  return z.discriminatedUnion('kind', schemas, {
    error: ({ input }) => {
      if (typeof input !== 'object' || input === null || Array.isArray(input)) {
        return 'write an object in { }, with a kind and its keys'
      }
      const meant = didYouMean((input as { kind?: unknown }).kind, names)
      return `write a kind: ${quoted(names)}${meant}`
    },
  })
}

/** Placeholders by key; see `Kind`. */
export const placeholders: NonNullable<Described['placeholders']> = Object.assign(
  {},
  ...kinds.map((kind: Described) => kind.placeholders),
)

export const notifiers = Object.fromEntries(
  kinds.flatMap((kind) =>
    Object.entries<Notifier<never>>(kind.notifiers).map(([name, notifier]) => [
      name,
      { ...discreet(notifier), service: kind.name },
    ]),
  ),
) as Notifiers

/** Open keys of every kind. All other texts are secrets, so that a forgotten key is hidden. */
const openKeys = ['kind', 'fallback', 'endpoint']

/** The secrets of one channel, including parts of an address, which an error may show alone. */
export function channelSecrets(channel: Channel): string[] {
  const kind = kinds.find(({ notifiers }) => channel.kind in notifiers) as Described
  const { open = [], ids = [], joined = () => [] } = kind
  const shown = [...openKeys, ...open, ...ids]
  const hidden = Object.entries(channel).filter(([key]) => !shown.includes(key))
  const secrets = listTexts(Object.fromEntries(hidden))
  // in a body, only what looks random is one
  const random = listTexts(open.map((key) => channel[key as keyof Channel])).filter(looksSecret)
  return [...secrets, ...random, ...joined(channel as never)].flatMap((one) => [
    one,
    ...(isWebUrl(one) ? splitUrl(one) : []),
  ])
}

/**
 * All texts inside a value. Of `Bearer TOKEN` or `name=TOKEN`, also the token; of `Basic PAIR`, also the pair and
 * the password; of `whsec_KEY`, also the key.
 */
function listTexts(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(listTexts)
  if (typeof value !== 'string') return []
  const words = value.split(' ')
  const parts = isWebUrl(value) ? [] : value.split(/[\s=:;,"]+/)
  const isBasic = words.length === 2 && /^basic$/i.test(words[0]!)
  const pair = isBasic ? new TextDecoder().decode(fromBase64(words[1]!)) : ''
  const decoded = pair === '' ? [] : [pair, pair.slice(pair.indexOf(':') + 1)]
  const pieces = [words, parts].flatMap((some) => (some.length > 1 ? some.filter(mayBeSecret) : []))
  const bare = value.startsWith('whsec_') ? [value.slice('whsec_'.length)] : []
  return [value, ...pieces, ...decoded, ...bare]
}

/** A part of an address with such a name is a secret, also if it looks like words. */
const secretName = /^(sig|signature|code|secret|password|auth|([a-z]+_)?(key|token))$/i

/** Paths with the number of an account are made by a program. */
const numbered = /\/\d{5,}\//

function splitUrl(url: string): string[] {
  const { pathname, search, searchParams } = new URL(url)
  const raw = search
    .slice(1)
    .split('&')
    .map((pair): [string, string] => [pair.split('=', 1)[0]!, pair.split('=', 2)[1] ?? ''])
  // a server may repeat the path as it reads it
  const paths = [...new Set([pathname, decoded(pathname)])]
  const segments = paths.flatMap((path) => path.split('/')).filter(mayBeSecret)
  const pieces = [...raw, ...searchParams].flatMap(([name, value]) =>
    secretName.test(name) || mayBeSecret(value) ? [value] : [],
  )
  return [
    ...(search === '' ? [] : [url.slice(0, url.indexOf('?')), pathname + search]),
    // a part of it may look like a word, and be none: /hooks/catch/1234567/bqzxwvu
    ...(segments.length > 0 || numbered.test(pathname) ? paths : []),
    ...segments,
    ...pieces,
  ]
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/**
 * Words, dates and versions are no secrets: "services", "delivery" or "api-version=2016-06-01" may stand
 * in any line of the log. A long text without a separator is none of them.
 */
function mayBeSecret(piece: string): boolean {
  const isWords = /^[a-z]{1,15}([-_.][a-z]{1,15})*$/i.test(piece)
  return !isWords && !/^[\d.:-]{0,12}$/.test(piece)
}

const maxNoteLength = 320
const masks = new WeakMap<Channel, ReturnType<typeof maskOf>>()

/**
 * Masks secrets in a notifier's notes. An answer may repeat the channel's address, or the message
 * with a link that decides.
 */
function discreet(notifier: Notifier<never>): Notifier<never> {
  return {
    ...notifier,
    async notify(outgoing, channel, send) {
      const result = await notifier.notify(outgoing, channel, send)
      const mask = masks.get(channel) ?? maskOf(channelSecrets(channel))
      masks.set(channel, mask)
      const shown = (text: string) => maskTokens(mask(text))
      // Cut last: the masks would not recognize half a secret.
      const note = [...shown(cut(result.note, 4 * maxNoteLength))].slice(0, maxNoteLength).join('')
      const { reply } = result
      const masked = reply && { reply: { ...reply, text: shown(reply.text) } }
      return { ...result, note, ...masked }
    },
  }
}
