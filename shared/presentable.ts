// What may be shown of a text that stands where a name belongs. Its one surprise: people paste secrets in
// such places, too, so a text is shown for its form, not for where it stands.

const why = 'not shown, as it may be a secret'
export const notShown = `(${why})`

/** Services whose addresses are the secret. */
const services = [
  /hooks\.slack(-gov)?\.com/i,
  /webhook\.office\.com|outlook\.office(365)?\.com\/webhook|\.logic\.azure\.|powerplatform\.com/i,
  /pagerduty\.com\/integration|discord(app)?\.com\/api\/webhooks/i,
]

const marks = [
  ...services,
  /whsec_/i,
  /(?<![a-z0-9])(xox[a-z]?[.-]|xapp-)/i,
  // a password before the host, and what usually is a credential behind it
  /\/\/[^/]*@/,
  /[?&](sig|sv|code|key|token|secret|password|access_token)=/i,
]

/** Letters and digits without a break: from here on they may be random, or surely no word. */
const suspicious = { length: 16, switchesEach: 4, certain: 32 }

/** Whether it has the form of a key, a token, or an address that is one. */
export function looksSecret(text: string): boolean {
  const runs = text.match(/[A-Za-z0-9]+/g) ?? []
  return runs.some(isRandom) || marks.some((mark) => mark.test(text))
}

/** Whether it is the address of a service that gives out addresses as secrets. */
export function isSecretAddress(url: string): boolean {
  return services.some((service) => service.test(url))
}

/** Words, also `inCamelCase` or with a number behind, switch between cases and digits far less often. */
function isRandom(run: string): boolean {
  if (run.length < suspicious.length) return false
  const switches = (run.match(/[A-Z]?[a-z]+|[A-Z]+|[0-9]+/g) ?? []).length - 1
  return run.length >= suspicious.certain || switches * suspicious.switchesEach >= run.length
}

/** Whether it has the form of a name, also of one that is not allowed, such as `my chat`. */
export function isPresentable(name: string): boolean {
  return /^[\p{L}\p{N}_$ .-]{0,64}$/u.test(name) && !looksSecret(name)
}

/** The name, or that it is not shown; `place`: which one of several it is, from 1. */
export function shownName(name: string, place: () => number | undefined = () => undefined): string {
  if (isPresentable(name)) return name
  const found = place()
  return found === undefined ? notShown : `(entry ${found}, ${why})`
}
