// Masks secrets in texts of others: known ones in each form in which a server may repeat them, and tokens by
// their look.

/** A shorter secret may be a word: masking it would eat the log. */
const shortestSecret = 8

/** A JWT, or its beginning. Its first part is a JSON object and begins with the base64 of `{"`. */
const jwt = /eyJ[\w-]{8,}(?:\.[\w-]*)*/g
/** The token of an approve link, or its beginning: key id, base64 of `["` or of compressed content, MAC. */
const link = /[\w-]{8}\.(?:W(?:y[IJ]|zI)|eJ[w-z])[\w-]*(?:\.[\w-]*)?/g

/** A token of the API, or its beginning. */
const api = /fht_\w+/g

/** The secret of a subscription or a fleet, or its beginning. */
const signing = /whsec_[A-Za-z0-9+/]{8,}=*/g

const looks = [jwt, link, api, signing]

/**
 * Masks tokens by their look, also in texts that quote them with escapes. The holder of one could report as a VM, or
 * decide an event.
 */
export function maskTokens(text: string): string {
  const spansIn = (plain: string) =>
    looks.flatMap((look) =>
      [...plain.matchAll(look)].map(({ 0: found, index }): Span => [index, index + found.length]),
    )
  return withoutSpans(text, inEachLayer(text, spansIn), '[token]')
}

/** What is found in the text, and in what it is without escapes. */
function inEachLayer(text: string, spansIn: (plain: string) => Span[]): Span[] {
  const quoted = listLayers(text).flatMap(({ plain, at }) =>
    spansIn(plain).map(([from, to]): Span => [at[from]!, at[to]!]),
  )
  return [...spansIn(text), ...quoted]
}

/**
 * Replaces each secret, in every form in which requests carry it, and a beginning of one where a text was cut. A
 * shorter form may be a word.
 */
export function maskOf(secrets: readonly string[]): (text: string) => string {
  const kept = secrets.filter((secret) => secret !== '')
  if (kept.length === 0) return (text) => text
  const shortest = Math.max(shortestSecret, Math.min(...kept.map(({ length }) => length)))
  let mask: ((text: string) => string) | undefined
  return (text) => {
    // most texts are too short, and most masks are never needed
    if (text.length < shortest && !isCut.test(text)) return text
    mask ??= maskOfForms(kept)
    return mask(text)
  }
}

function maskOfForms(secrets: string[]): (text: string) => string {
  const forms = [...new Set(secrets.flatMap(listForms))]
    .filter((form) => form.length >= shortestSecret)
    .sort((a, b) => b.length - a.length)
  if (forms.length === 0) return (text) => text
  // of two that begin in one place, the first one counts
  const any = new RegExp(forms.map((one) => one.replace(/[^\w]/g, '\\$&')).join('|'), 'g')
  const spansIn = (text: string) => {
    const spans = beginningsIn(text, forms)
    text.replace(any, (found, at: number) => {
      spans.push([at, at + found.length])
      return ''
    })
    return spans
  }
  return (text) => withoutSpans(text, inEachLayer(text, spansIn), '[secret]')
}

/** A span reaches from its first character to the one behind its last. */
type Span = [from: number, to: number]

function withoutSpans(text: string, spans: Span[], shown: string): string {
  let masked = ''
  let done = 0
  for (const [from, to] of spans.sort(([a], [b]) => a - b)) {
    if (from >= done) masked += `${text.slice(done, from)}${shown}`
    done = Math.max(done, to)
  }
  return masked + text.slice(done)
}

/** Where a text was cut: perhaps within a secret. */
const isCut = /…|\.\.\./
const cuts = new RegExp(isCut, 'g')

/** Beginnings of secrets in front of a cut. */
function beginningsIn(text: string, secrets: string[]): Span[] {
  const spans: Span[] = []
  const longest = Math.max(...secrets.map(({ length }) => length))
  for (const { index: to } of text.matchAll(cuts)) {
    const length = longestBeginning(text.slice(Math.max(0, to - longest), to), secrets)
    if (length > 0) spans.push([to - length, to])
  }
  return spans
}

/** 0: the piece does not end with the beginning of a secret. */
function longestBeginning(piece: string, secrets: string[]): number {
  const end = piece.slice(-shortestSecret)
  if (end.length < shortestSecret) return 0
  const lengths = secrets.map((secret) => {
    // if a secret has these characters, its beginning may end with them
    const length = secret.indexOf(end) + shortestSecret
    return length >= shortestSecret && piece.endsWith(secret.slice(0, length)) ? length : 0
  })
  return Math.max(0, ...lengths)
}

/** A text without its escapes. `at`: where each character begins in the text, and where the last one ends. */
interface Layer {
  plain: string
  at: Int32Array
}

/** An escaped text may quote an escaped text. */
const maxLayers = 3

function listLayers(text: string): Layer[] {
  if (!escapes.test(text)) return []
  const whole: Layer = { plain: text, at: new Int32Array(text.length + 1).map((_, i) => i) }
  return [inMarkup, inJson, inCode].flatMap((escaped) => {
    const layers: Layer[] = []
    for (let last = whole; layers.length < maxLayers; ) {
      const next = withoutEscapes(last, escaped)
      if (next.plain === last.plain) break
      layers.push(next)
      last = next
    }
    return layers
  })
}

const escapes = /[\\%&=]/
/** Escapes in addresses, in mails and in HTML. Each language escapes other characters. */
const inMarkup =
  /%[0-7][\da-f]|%[c-f][\da-f](?:%[89ab][\da-f])+|=(?<quoted>[2-7][\da-f])|&#x(?<hex>[\da-f]{1,6});|&#(?<decimal>\d{1,7});|%u(?<old>[\da-f]{4})|&(?<name>amp|lt|gt|quot|apos|sol|plus|equals|comma|period|colon|semi|excl|num|dollar|percnt|ast|lpar|rpar|quest|commat|lbrack|lsqb|rbrack|rsqb|lbrace|lcub|rbrace|rcub|bsol|lowbar|underbar|grave|verbar|vert|hat|nbsp);|=\r?\n/gi
/** In JSON and JavaScript: there, a backslash stands for none. A secret may have what markup would take for an escape. */
const inJson =
  /\\[ux]\{(?<braced>[\da-f]{1,6})\}|\\u(?<unit>[\da-f]{4})|\\x(?<byte>[\da-f]{2})|\\(?<octal>[0-3][0-7]{2})|\\(?<one>[^ux])/gi
/** And both at once. */
const inCode = new RegExp(`${inJson.source}|${inMarkup.source}`, 'gi')
const namesInHtml: Record<string, string> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", sol: '/', plus: '+', equals: '=' },
  ...{ comma: ',', period: '.', colon: ':', semi: ';', excl: '!', num: '#', dollar: '$' },
  ...{ percnt: '%', ast: '*', lpar: '(', rpar: ')', quest: '?', commat: '@', hat: '^' },
  ...{ lbrack: '[', lsqb: '[', rbrack: ']', rsqb: ']', lbrace: '{', lcub: '{', rbrace: '}' },
  ...{ rcub: '}', bsol: '\\', lowbar: '_', underbar: '_', grave: '`', verbar: '|', vert: '|' },
  nbsp: ' ',
}

function withoutEscapes({ plain, at }: Layer, escaped: RegExp): Layer {
  const shown: string[] = []
  // what an escape means is no longer than the escape
  const places = new Int32Array(plain.length + 1)
  let length = 0
  let done = 0
  const keep = (to: number) => {
    places.set(at.subarray(done, to), length)
    length += to - done
    shown.push(plain.slice(done, to))
  }
  for (const found of plain.matchAll(escaped)) {
    keep(found.index)
    const meant = meantBy(found)
    places.fill(at[found.index]!, length, length + meant.length)
    length += meant.length
    shown.push(meant)
    done = found.index + found[0].length
  }
  keep(plain.length)
  places[length] = at.at(-1)!
  return { plain: shown.join(''), at: places.subarray(0, length + 1) }
}

function meantBy({ 0: whole, groups = {} }: RegExpExecArray): string {
  const { unit, byte, quoted, old, braced, octal, one, hex, decimal, name } = groups
  if (one !== undefined) return one
  if (name !== undefined) return namesInHtml[name.toLowerCase()]!
  // where a mail breaks a long line
  if (whole.startsWith('=') && whole.endsWith('\n')) return ''
  const code16 = unit ?? byte ?? quoted ?? old
  if (code16 !== undefined) return String.fromCharCode(Number.parseInt(code16, 16))
  if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8))
  if (whole.startsWith('%')) return decoded(whole)
  const inHex = hex ?? braced
  const code = inHex === undefined ? Number(decimal) : Number.parseInt(inHex, 16)
  return code > 0x10ffff ? whole : String.fromCodePoint(code)
}

/**
 * The secret as it is, in a form, in hex and in base64 of both alphabets. Of escapes, only those of JSON and HTML: in
 * those, a secret may look like another escape. For the others, see `listLayers`.
 */
function listForms(secret: string): string[] {
  const text = secret.toWellFormed()
  const bytes = [...new TextEncoder().encode(text)]
  const alone = btoa(String.fromCharCode(...bytes)).replace(/=+$/, '')
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
  const inJson = JSON.stringify(text).slice(1, -1)
  return [
    ...[secret, text.replaceAll(' ', '+'), hex, hex.toUpperCase()],
    ...[inJson, inJson.replaceAll('/', '\\/'), inHtml(text)],
    ...[...[0, 1, 2].map((before) => base64Within(bytes, before)), alone].flatMap((one) => [
      one,
      one.replaceAll('+', '-').replaceAll('/', '_'),
    ]),
  ]
}

function inHtml(text: string): string {
  const named = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
  return text.replace(/[&<>"']/g, (one) => named[one as keyof typeof named])
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

/** Some proxies take a token as the user, without a password. */
export function secretsInProxy(url = ''): string[] {
  if (!URL.canParse(url)) return []
  const { username, password } = new URL(url)
  if (password !== '' || username === '') return secretsInUrl(url)
  return [username, decoded(username), `${username}:`]
}

/** The address as it may be shown, even if it is no valid one. */
export function withoutPassword(url: string): string {
  // a password may have a slash
  const end = url.lastIndexOf('@')
  if (end === -1) return url
  const [scheme = ''] = /^https?:\/*/i.exec(url) ?? []
  return `${scheme}[secret]${url.slice(end)}`
}

/** If a `%` begins no escape, the value stays as it is. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
