// One JSON line per entry. It masks known secrets, and tokens by their look: tokens change while
// the process runs, and a text may have a part of one. It escapes control and invisible characters,
// because names come from outside.
import { escapeUnseen } from './presentable.ts'

export type Level = 'debug' | 'info' | 'warn' | 'error'
export type Fields = Record<string, string | number | boolean | null | undefined | string[]>

export interface Log {
  debug(event: string, fields?: Fields): void
  info(event: string, fields?: Fields): void
  warn(event: string, fields?: Fields): void
  error(event: string, fields?: Fields): void
}

const ranks: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3 }
const shortestSecret = 8

/** `write` gets one line without its end, and its level; entries below `level` are dropped. */
export function createLog(options: {
  write: (line: string, level: Level) => void
  now: () => number
  level: Level
  secrets?: readonly string[]
}): Log {
  const mask = maskOf(options.secrets ?? [])
  const at =
    (level: Level) =>
    (event: string, fields: Fields = {}): void => {
      if (ranks[level] < ranks[options.level]) return
      const time = new Date(options.now()).toISOString()
      const entry = { time, level, event, ...fields }
      const plain = JSON.stringify(entry)
      // in a line, the escapes in a text are doubled, so each text is masked by itself first
      const clean = (_: string, value: unknown) => (typeof value === 'string' ? mask(value) : value)
      const line = mask(plain.includes('\\') ? JSON.stringify(entry, clean) : plain)
      options.write(escapeUnseen(maskTokens(line)), level)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** A JWT, or its beginning. Its first part is a JSON object and begins with the base64 of `{"`. */
const jwt = /eyJ[\w-]{8,}(?:\.[\w-]*)*/g
/** The token of an approve link, or its beginning: key id, base64 of a list (`["` or `[2`), MAC. */
const link = /[\w-]{8}\.W(?:y[IJ]|zI)[\w-]*(?:\.[\w-]*)?/g

/** A token of the API, or its beginning. */
const api = /fht_\w+/g

/** The secret of a subscription or a fleet, or its beginning. */
const signing = /whsec_[A-Za-z0-9+/]{8,}=*/g

/** Masks tokens by their look. The holder of one could report as a VM, or decide an event. */
export function maskTokens(text: string): string {
  return text
    .replace(jwt, '[token]')
    .replace(link, '[token]')
    .replace(api, '[token]')
    .replace(signing, '[secret]')
}

/**
 * Replaces each secret, in every form in which requests carry it, and a beginning of one where a text was cut. A
 * shorter form may be a word.
 */
export function maskOf(secrets: readonly string[]): (text: string) => string {
  const kept = secrets.filter(({ length }) => length >= shortestSecret)
  if (kept.length === 0) return (text) => text
  const shortest = Math.min(...kept.map(({ length }) => length))
  let mask: ((text: string) => string) | undefined
  return (text) => {
    // most texts are too short, and most masks are never needed
    if (text.length < shortest && !text.includes(cutMark)) return text
    mask ??= maskOfForms(kept)
    return mask(text)
  }
}

function maskOfForms(secrets: string[]): (text: string) => string {
  const forms = secrets.flatMap(formsOf).filter((form) => form.length >= shortestSecret)
  const unique = [...new Set(forms)].sort((a, b) => b.length - a.length)
  // of two that begin in one place, the first one counts
  const any = new RegExp(unique.map((one) => one.replace(/[^\w]/g, '\\$&')).join('|'), 'g')
  return (text) => {
    const masked = text.replace(any, '[secret]')
    const [last = '', ...before] = masked.split(cutMark).reverse()
    return [...before.reverse().map((piece) => withoutBeginning(piece, unique)), last].join(cutMark)
  }
}

/** Where a text was cut: perhaps within a secret. */
const cutMark = '…'

function withoutBeginning(piece: string, secrets: string[]): string {
  // if a secret has these characters, its beginning may end with them
  const end = piece.slice(-shortestSecret)
  if (end.length < shortestSecret) return piece
  for (const secret of secrets) {
    const at = secret.indexOf(end)
    const length = at + shortestSecret
    if (at !== -1 && piece.endsWith(secret.slice(0, length)))
      return `${piece.slice(0, -length)}[secret]`
  }
  return piece
}

/**
 * As it is, in JSON, in an address, in a form, in HTML, in hex and in base64: a server may repeat what it got, in
 * the way of its language.
 */
function formsOf(secret: string): string[] {
  const text = secret.toWellFormed()
  const bytes = [...new TextEncoder().encode(text)]
  const json = JSON.stringify(secret).slice(1, -1)
  const address = encodeURIComponent(text)
  const inAddress = [address, new URLSearchParams([['', text]]).toString().slice(1)]
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
  const escaped = (made: (code: string) => string) =>
    text.replace(/[^\w. -]/g, (one) => made(one.charCodeAt(0).toString(16)))
  const upper = (code: string) => code.toUpperCase()
  const unicode = (code: string) => `\\u${code.padStart(4, '0')}`
  const html = (code: string) => `&#x${code};`
  return [
    ...[secret, json, json.replaceAll('/', '\\/')],
    ...[escaped(unicode), escaped((code) => unicode(upper(code)))],
    ...inAddress.flatMap((one) => [one, one.replace(/%../g, (code) => code.toLowerCase())]),
    ...[escaped(html), escaped((code) => html(upper(code)))],
    ...[escaped((code) => `&#${Number.parseInt(code, 16)};`), hex, upper(hex)],
    ...[0, 1, 2].map((before) => base64Within(bytes, before)),
    btoa(String.fromCharCode(...bytes)).replace(/=+$/, ''),
  ]
}

/** What is the same of the base64 of every text that has these bytes behind `before` others. */
function base64Within(bytes: number[], before: number): string {
  const whole = btoa(String.fromCharCode(...Array<number>(before).fill(0), ...bytes))
  const from = Math.ceil((before * 4) / 3)
  const isFull = (before + bytes.length) % 3 === 0
  return whole.replace(/=+$/, '').slice(from, isFull ? undefined : -1)
}

/** The password in the address of a proxy: the error of a failed connection can contain it. */
export function secretsInUrl(url = ''): string[] {
  if (!URL.canParse(url)) return []
  const { username, password } = new URL(url)
  if (password === '') return []
  // as the client sends them, in base64
  const pair = `${decoded(username)}:${decoded(password)}`
  return [`${username}:${password}`, pair, password, decoded(password)]
}

/** As it is if a `%` begins no escape. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
