// Judges by headers whether a form comes from our page. Headers prove nothing: our referrer policy
// makes the Origin of our own forms `null`, which others can send, too. The token of the form does.
import type { Context } from 'hono'
import type { Relay } from '../use-cases/relay.ts'

const formType = 'application/x-www-form-urlencoded'

/** False if the browser says that the form is not from our page. */
export function isOwnForm(relay: Relay, c: Context): boolean {
  const site = c.req.header('sec-fetch-site')
  const origin = c.req.header('origin')
  const sameSite =
    site === undefined
      ? origin === undefined || origin === 'null' || origin === ownOrigin(relay)
      : site === 'same-origin' || site === 'none'
  const type = (c.req.header('content-type') ?? '').split(';', 1)[0]?.trim()
  return sameSite && !isPrefetch(c) && type === formType
}

/** False also for old browsers: they send no `sec-fetch-site`, and `null` as the origin. */
export function isSurelyOwn(relay: Relay, c: Context): boolean {
  return (
    c.req.header('sec-fetch-site') === 'same-origin' || c.req.header('origin') === ownOrigin(relay)
  )
}

function ownOrigin({ config }: Relay): string {
  return new URL(config.publicUrl).origin
}

/** The browser loads a page that a person may open next. */
export function isPrefetch(c: Context): boolean {
  const names = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz']
  return names.some((name) => /prefetch|preview|prerender/i.test(c.req.header(name) ?? ''))
}

/** No form of ours has as many. Each field costs time before it is known whether the form is ours. */
const maxFields = 2_000

/** If there are too many fields, returns none. */
export function parseFields(body: string): URLSearchParams {
  let fields = 1
  for (let at = body.indexOf('&'); at !== -1; at = body.indexOf('&', at + 1)) fields += 1
  return new URLSearchParams(fields > maxFields ? '' : body)
}
