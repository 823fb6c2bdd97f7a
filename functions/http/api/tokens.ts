// `/v1/tokens`: credentials that an owner gives to other systems. Only the answer to the request that
// makes a token contains its text.
import type { Context } from 'hono'
import * as z from 'zod'
import { iso } from '../../../shared/json.ts'
import { looksSecret } from '../../../shared/presentable.ts'
import { type Scope, scopes } from '../../core/rules/access.ts'
import { maxTokenDays, type Token } from '../../core/rules/token.ts'
import { dayMs } from '../../core/units.ts'
import { listChoices, maxListed, object, quoted, textBy, time } from '../../schema/checks.ts'
import { createToken, revokeToken, tokenFor, tokensFor } from '../../use-cases/tokens.ts'
import { fleetUnknown, named, problem } from '../problem.ts'
import { type Route, route } from '../route.ts'
import { fleetsFor, readAccess } from './access.ts'

const maxNameLength = 64

const aToken = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.enum(scopes)),
  fleets: z.array(z.string()).exactOptional().describe('Absent: all fleets.'),
  createdAt: time,
  createdBy: z.string().describe('`admin`, or the token that made this one.'),
  expiresAt: time.exactOptional().describe('Absent: it does not expire.'),
  lastUsedAt: time.exactOptional().describe('To five minutes. Absent: never used.'),
})
const tokenAnswer = aToken.meta({ id: 'Token' })

const listTokens = route({
  method: 'get',
  path: '/v1/tokens',
  name: 'listTokens',
  summary: 'Lists tokens, the newest first.',
  group: 'Tokens',
  caller: 'manage',
  answers: {
    200: {
      about: 'All that the sender may see.',
      schema: z.object({ tokens: z.array(tokenAnswer) }),
    },
  },
  handler:
    ({ relay }) =>
    async (c) => {
      const tokens = await tokensFor(relay, readAccess(c))
      return c.json({ tokens: tokens.map(publicToken) })
    },
})

const nameRule =
  `write 1 to ${maxNameLength} letters, digits, single blanks, ".", "_" or "-"; ` +
  'it must not look like a key or a token'
const nameForm = /^[\p{L}\p{N}._-]+(?: [\p{L}\p{N}._-]+)*$/u
const daysRule = `write a whole number of days from 1 to ${maxTokenDays}`
const calendarRule =
  'write "calendar" alone: this token is part of an address, which others may see'

/** Messages, pages and logs show it. */
function isName(text: string): boolean {
  return text.length <= maxNameLength && nameForm.test(text) && !looksSecret(text)
}

const postToken = route({
  method: 'post',
  path: '/v1/tokens',
  name: 'createToken',
  summary: 'Makes a token that may do no more than its maker.',
  about:
    'The scope `calendar` opens `/calendar.ics`. A token that has it has no other scope. The scope `report` is for Azure Event Grid.',
  group: 'Tokens',
  caller: 'manage',
  json: {
    schema: object({
      name: textBy(nameRule).refine(isName, { error: nameRule }),
      scopes: z
        .array(listChoices(scopes))
        .min(1)
        .max(scopes.length)
        .refine((all) => !all.includes('calendar') || all.every((one) => one === 'calendar'), {
          error: calendarRule,
        }),
      fleets: z.array(z.string()).min(1).max(maxListed).optional(),
      expiresInDays: z.int(daysRule).min(1, daysRule).max(maxTokenDays, daysRule).optional(),
    }),
    // room for a hundred names of fleets
    maxBytes: 16_384,
    code: 'token_malformed',
    example: 'at least {"name": "inventory", "scopes": ["read"]}',
  },
  answers: {
    201: {
      about: 'The token, with its text.',
      schema: aToken.extend({ token: z.string().describe('Only this answer contains it.') }),
    },
  },
  problems: [404, 409],
  handler:
    ({ relay }) =>
    async (c, { body: { expiresInDays: days, ...rest } }) => {
      const expiresAt = days === undefined ? undefined : relay.now() + days * dayMs
      const created = await createToken(relay, readAccess(c), { ...rest, expiresAt })
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
        case 'no_room': {
          const detail = `there are ${created.most} tokens, which is the limit; revoke those that no system uses`
          return problem(c, 409, 'too_many_tokens', detail)
        }
      }
    },
})

const oneToken = {
  path: '/v1/tokens/{id}',
  group: 'Tokens',
  caller: 'manage',
  params: { id: 'Its id from the list.' },
  problems: [404],
} as const

const getToken = route({
  ...oneToken,
  method: 'get',
  name: 'getToken',
  summary: 'Reads one token, without its text.',
  answers: { 200: { about: 'The token.', schema: tokenAnswer } },
  handler:
    ({ relay }) =>
    async (c, { params: { id } }) => {
      const token = await tokenFor(relay, readAccess(c), id)
      return token === undefined ? tokenUnknown(c, id) : c.json(publicToken(token))
    },
})

const deleteToken = route({
  ...oneToken,
  method: 'delete',
  name: 'revokeToken',
  summary: 'Revokes a token at once.',
  answers: { 204: { about: 'It is revoked.' } },
  handler:
    ({ relay }) =>
    async (c, { params: { id } }) => {
      const outcome = await revokeToken(relay, readAccess(c), id)
      return outcome === 'unknown' ? tokenUnknown(c, id) : c.body(null, 204)
    },
})

/** The token may exist, but the sender must not know. */
function tokenUnknown(c: Context, id: string): Response {
  const detail = `there is no token with the id ${named(id)}; GET /v1/tokens lists all`
  return problem(c, 404, 'token_unknown', detail)
}

function beyondOwn(c: Context, missing: Scope[]): Response {
  const detail = `this token lacks ${quoted(missing)}, and cannot make a token that has it`
  return problem(c, 403, 'beyond_own_rights', detail)
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

export const tokenRoutes: Route[] = [listTokens, postToken, getToken, deleteToken]
