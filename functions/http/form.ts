// Where a form comes from, as far as its browser says. The surprise: under our referrer policy the Origin of
// our own forms is `null`, which others can send as well; the form's own token is what proves it.
import type { Context } from 'hono'
import type { Relay } from '../use-cases/relay.ts'

const formType = 'application/x-www-form-urlencoded'

/** A form of ours, sent by a browser from our page. */
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

/** As far as browsers say it: old ones send no `sec-fetch-site`, and under our referrer policy `null`. */
export function isSurelyOwn(relay: Relay, c: Context): boolean {
  return (
    c.req.header('sec-fetch-site') === 'same-origin' || c.req.header('origin') === ownOrigin(relay)
  )
}

function ownOrigin({ config }: Relay): string {
  return new URL(config.publicUrl).origin
}

/** A browser that loads what somebody may open next. */
export function isPrefetch(c: Context): boolean {
  const names = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz']
  return names.some((name) => /prefetch|preview|prerender/i.test(c.req.header(name) ?? ''))
}
