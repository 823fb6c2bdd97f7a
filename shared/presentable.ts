// Makes text from outside safe to show: no secrets, no invisible characters, no links. People paste
// secrets where a name belongs, so not every name is shown.

const why = 'not shown, as it may be a secret'
export const notShown = `(${why})`

/** Services whose addresses are secrets. */
const services = [
  /hooks\.slack(-gov)?\.com/i,
  /webhook\.office\.com|outlook\.office(365)?\.com\/webhook|\.logic\.azure\.|powerplatform\.com/i,
  /pagerduty\.com\/integration|discord(app)?\.com\/api\/webhooks/i,
]

const marks = [
  ...services,
  /whsec_/i,
  /(?<![a-z0-9])fht_/i,
  /(?<![a-z0-9])(xox[a-z]?[.-]|xapp-)/i,
  // a password before the host, or a parameter that usually is a credential
  /\/\/[^/]*@/,
  /[?&](sig|sv|code|key|token|secret|password|access_token)=/i,
]

/** From `length` on, a run of letters and digits may be random. From `certain` on, it is. */
const suspicious = { length: 16, switchesEach: 4, certain: 32 }

/** Whether the text looks like a key, a token, or an address that is a secret. */
export function looksSecret(text: string): boolean {
  const runs = text.match(/[A-Za-z0-9]+/g) ?? []
  return runs.some(isRandom) || marks.some((mark) => mark.test(text))
}

/** Whether this is the address of a service whose addresses are secrets. */
export function isSecretAddress(url: string): boolean {
  return services.some((service) => service.test(url))
}

/** Words switch between cases and digits far less often, even `inCamelCase` or with a number. */
function isRandom(run: string): boolean {
  if (run.length < suspicious.length) return false
  const switches = (run.match(/[A-Z]?[a-z]+|[A-Z]+|[0-9]+/g) ?? []).length - 1
  return run.length >= suspicious.certain || switches * suspicious.switchesEach >= run.length
}

/** Whether the text looks like a name, even one that is not allowed, such as `my chat`. */
export function isPresentable(name: string): boolean {
  return /^[\p{L}\p{N}_$ .-]{0,64}$/u.test(name) && !looksSecret(name)
}

/** The name, or a note that it is not shown. `place`: its position among several, from 1. */
export function shownName(name: string, place: () => number | undefined = () => undefined): string {
  if (isPresentable(name)) return name
  const found = place()
  return found === undefined ? notShown : `(entry ${found}, ${why})`
}

/** Characters that break a line or change the direction of text. */
const turning = '\\p{Cc}\\p{Bidi_Control}\\u2028\\u2029'
/**
 * Characters that show nothing: zero-width ones, joiners, variation selectors, tags, fillers, soft
 * hyphens, annotation marks and the blank of Braille.
 */
const unseen = '\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb\\u2800'

const breaks = new RegExp(`[${turning}]+`, 'gu')
const hidden = new RegExp(`[${unseen}]+`, 'gu')
const raw = new RegExp(`[${turning}${unseen}]`, 'gu')

/** One line in reading order: whole characters, and none that show nothing. */
export function visible(text: string): string {
  return text.toWellFormed().replace(breaks, ' ').replace(hidden, '')
}

/** JSON with these characters escaped, so that a terminal does not obey them. */
export function escapeUnseen(json: string): string {
  return json.replace(raw, (found) =>
    found.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

/** Schemes without `//` that clients turn into links. */
const schemes = 'mailto|tel|sms|sip|sips|im|skype|callto|facetime|xmpp|msteams'
/** Ends of names in private networks, and of files. People do not publish names that end so. */
const privateEndings = 'prod|stage|staging|test|internal|local|localdomain|lan|corp|home|json|log'
/** There are 1,400 public endings, and new ones every year, so all others count as public. */
const endings = `(?!(?:${privateEndings})(?![\\p{L}\\p{N}_-]))(?:xn--[a-z0-9-]+|\\p{L}{2,63})`
/** Browsers also read the full stops of East Asian scripts as dots. */
const dot = '[.\u3002\uff0e\uff61]'
const dots = new RegExp(dot, 'g')

/** The colon of an address, or of a scheme for mail or telephone. */
const colon = new RegExp(`:(?=//)|(?<=(?<![\\p{L}\\p{N}])(?:${schemes})):(?=\\S)`, 'giu')

/** A label as in DNS. The limits keep the search fast on long texts. */
const label = '[\\p{L}\\p{N}](?:[\\p{L}\\p{N}_-]{0,61}[\\p{L}\\p{N}])?'
const maxLabels = 8
const maxAuthority = 255

/** The host of an address, or of text that looks like one. */
const host = new RegExp(
  [
    `(?<=://[^\\s/?#]{0,${maxAuthority}})${dot}`,
    `(?<![\\p{L}\\p{N}])www\\d?${dot}(?=\\S)`,
    `(?<![\\p{L}\\p{N}])(?:${label}${dot}){1,${maxLabels}}(?:${endings})(?![\\p{L}\\p{N}_-])`,
  ].join('|'),
  'giu',
)

/**
 * Writes `https[:]//evil[.]example`, as security tools do, for clients that turn plain text into links.
 * Names such as `web-1.prod` stay as they are.
 */
export function linkless(text: string): string {
  return text.replace(host, (found) => found.replace(dots, '[.]')).replace(colon, '[:]')
}
