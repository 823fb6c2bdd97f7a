// Tokens: credentials that an owner gives to other systems. Only the answer to the request that
// makes a token contains its text.
import type { Context } from 'hono'
import * as z from 'zod'
import { describeIssues } from '../../../shared/errors.ts'
import { iso, parseJson } from '../../../shared/json.ts'
import { looksSecret } from '../../../shared/presentable.ts'
import { type Scope, scopes } from '../../core/rules/access.ts'
import { maxTokenDays, type Token } from '../../core/rules/token.ts'
import { maxListed, object, oneOf, quoted, remedyOf, textBy } from '../../schema/checks.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { createToken, revokeToken, tokenFor, tokensFor } from '../../use-cases/tokens.ts'
import { fleetUnknown, named, problem } from '../problem.ts'
import { accessOf, fleetsFor } from './access.ts'

/** Room for a hundred names of fleets. */
export const maxTokenBytes = 16_384
const maxNameLength = 64
const dayMs = 86_400_000

const nameRule =
  `write 1 to ${maxNameLength} letters, digits, single blanks, ".", "_" or "-"; ` +
  'it must not look like a key or a token'
const nameForm = /^[\p{L}\p{N}._-]+(?: [\p{L}\p{N}._-]+)*$/u
const daysRule = `write a whole number of days from 1 to ${maxTokenDays}`

const calendarRule =
  'write "calendar" alone: this token is part of an address, which others may see'

export const tokenSchema = object({
  name: textBy(nameRule).refine(isName, { error: nameRule }),
  scopes: z
    .array(oneOf(scopes))
    .min(1)
    .max(scopes.length)
    .refine((all) => !all.includes('calendar') || all.every((one) => one === 'calendar'), {
      error: calendarRule,
    }),
  fleets: z.array(z.string()).min(1).max(maxListed).optional(),
  expiresInDays: z.int(daysRule).min(1, daysRule).max(maxTokenDays, daysRule).optional(),
})

export async function getTokens(relay: Relay, c: Context): Promise<Response> {
  const tokens = await tokensFor(relay, accessOf(c))
  return c.json({ tokens: tokens.map(publicToken) })
}

export async function postToken(relay: Relay, c: Context): Promise<Response> {
  const json = parseJson(await c.req.text())
  const wish = tokenSchema.safeParse(json, { error: remedyOf })
  if (!wish.success) {
    const detail =
      json === undefined
        ? 'the body is not JSON; send at least {"name": "inventory", "scopes": ["read"]}'
        : describeIssues(wish.error, json).join('\n')
    return problem(c, 400, 'token_malformed', detail)
  }
  const { expiresInDays: days, ...rest } = wish.data
  const expiresAt = days === undefined ? undefined : relay.now() + days * dayMs
  const created = await createToken(relay, accessOf(c), { ...rest, expiresAt })
  switch (created.outcome) {
    case 'created': {
      const { id, ...shown } = publicToken(created.token)
      return c.json({ id, token: created.text, ...shown }, 201)
    }
    case 'scope_missing':
      return beyondOwn(c, created.scopes)
    case 'fleet_unknown':
      return fleetUnknown(c, created.fleet, fleetsFor(relay, c))
    case 'too_long': {
      const until = new Date(created.until).toISOString()
      const detail = `this token expires at ${until}, and cannot make one that lasts longer`
      return problem(c, 403, 'beyond_own_rights', `${detail}; write a smaller expiresInDays`)
    }
    case 'no_room':
      return noRoom(c, created.most)
  }
}

export async function getToken(relay: Relay, c: Context): Promise<Response> {
  const token = await tokenFor(relay, accessOf(c), c.req.param('id')!)
  return token === undefined ? tokenUnknown(c) : c.json(publicToken(token))
}

export async function deleteToken(relay: Relay, c: Context): Promise<Response> {
  const outcome = await revokeToken(relay, accessOf(c), c.req.param('id')!)
  return outcome === 'unknown' ? tokenUnknown(c) : c.body(null, 204)
}

/** The token may exist, but the sender must not know. */
function tokenUnknown(c: Context): Response {
  const id = named(c.req.param('id')!)
  const detail = `there is no token with the id ${id}; GET /v1/tokens lists all`
  return problem(c, 404, 'token_unknown', detail)
}

function beyondOwn(c: Context, missing: Scope[]): Response {
  const detail = `this token lacks ${quoted(missing)}, and cannot make a token that has it`
  return problem(c, 403, 'beyond_own_rights', detail)
}

function noRoom(c: Context, most: number): Response {
  const detail = `there are ${most} tokens, which is the limit; revoke those that no system uses`
  return problem(c, 409, 'too_many_tokens', detail)
}

/** Messages, pages and logs show it. */
function isName(text: string): boolean {
  return text.length <= maxNameLength && nameForm.test(text) && !looksSecret(text)
}

function publicToken(token: Token) {
  const { id, name, scopes, fleets, createdAt, createdBy, expiresAt, lastUsedAt } = token
  return {
    id,
    name,
    scopes,
    ...(fleets === undefined ? {} : { fleets }),
    createdAt: iso(createdAt),
    createdBy,
    ...(expiresAt === undefined ? {} : { expiresAt: iso(expiresAt) }),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt: iso(lastUsedAt) }),
  }
}
