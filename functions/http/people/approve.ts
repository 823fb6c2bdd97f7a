// The pages behind a link, one event or a list, and the form that decides. Only a POST from the page
// itself decides, as mail scanners open links, too.
import type { Context } from 'hono'
import * as z from 'zod'
import type { EventRecord } from '../../core/event/event.ts'
import { principalHeader } from '../../identity/principal.ts'
import type { LinkGuard } from '../../links/guard.ts'
import { type FormToken, type ListToken, readFormToken, readOne } from '../../links/link.ts'
import { eventPage, messagePage } from '../../pages/approve.ts'
import type { Seen } from '../../pages/event.ts'
import { listPage } from '../../pages/list.ts'
import { composeContent } from '../../pages/state.ts'
import { noteOpened } from '../../use-cases/opened.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { decideByPress, decisions, readWritten } from '../decision-answers.ts'
import { isOwnForm, isPrefetch, isSurelyOwn, parseFields } from '../form.ts'
import { buildEtag, notModified, type Page, page } from '../page.ts'
import { type Doors, type Route, route } from '../route.ts'
import {
  busyPage,
  charge,
  type Found,
  find,
  type Link,
  pathIn,
  readLink,
  signedInAs,
} from './entry.ts'
import { composeList, placeIn, readRecords, seenBy, type Visitor } from './seen.ts'
import { findViewer } from './viewer.ts'

const link = {
  path: '/approve/{token}',
  group: 'Decisions',
  caller: 'link',
  params: { token: 'From a message. Only the relay can make one.' },
  // mail programs add their own
  query: 'any',
} as const
const pageAnswer = { about: 'A page.', type: 'text/html', schema: z.string() }

const showPage = route({
  ...link,
  method: 'get',
  name: 'showApprovePage',
  summary: 'The page behind a link. It changes nothing.',
  answers: { 200: pageAnswer },
  handler:
    ({ relay, linkGuard, ...doors }) =>
    (c) =>
      getPage(relay, linkGuard, doors, c),
})

const submitPage = route({
  ...link,
  method: 'post',
  name: 'submitApprovePage',
  summary: 'The form of that page, which decides.',
  body: {
    schema: z.object({
      decision: z.enum(['approve', 'not_now', 'prepare', 'take', 'give_back']),
      reason: z.string().optional().describe('Stays with the decision.'),
      form: z.string().describe('As the page has it.'),
      event: z.string().optional().describe('In a list: the place of the event.'),
    }),
    type: 'application/x-www-form-urlencoded',
    maxBytes: 4_096,
  },
  answers: { 200: pageAnswer },
  handler:
    ({ relay, linkGuard, ...doors }) =>
    (c) =>
      postDecision(relay, linkGuard, doors, c),
})

const listMethods = route({
  ...link,
  method: 'options',
  name: 'approvePageMethods',
  summary: 'The methods of that page.',
  answers: { 204: { about: 'In the header `allow`.' } },
  handler: () => (c) => c.body(null, 204, { allow: 'GET, HEAD, POST, OPTIONS' }),
})

export const pageRoutes: Route[] = [showPage, submitPage, listMethods]

/** An open page asks for news this often. */
const refreshSeconds = 5

async function getPage(
  relay: Relay,
  guard: LinkGuard,
  { door, eventDoor }: Doors,
  c: Context,
): Promise<Response> {
  const link = await readLink(relay, guard, c)
  if (link instanceof Response) return link
  // a page that is open already, so this says nothing about a person's attention
  const have = c.req.header('if-none-match')
  const busy = charge(relay, guard, c, link, have === undefined ? 'look' : 'watch')
  if (busy !== undefined) return busy
  const answer = async () => {
    const opened = await find(relay, c, link.token)
    return opened instanceof Response ? opened : showOpened(relay, c, link, opened, have)
  }
  const { token } = link
  if (token === undefined) return answer()
  // a list takes as long as all its events
  const passed = await ('events' in token ? door : eventDoor).pass(askerIn(relay, c, link), answer)
  return passed === 'full' ? page(c, 429, busyPage()) : passed
}

/** Anybody may have many links of a channel, so all its links about these fleets are one asker. */
function askerIn(relay: Relay, c: Context, { name, token }: Link) {
  const keys = token === undefined ? [] : 'events' in token ? token.events : [token]
  const fleets = [...new Set(keys.map(({ fleet }) => fleet))].sort()
  const holder = signedInAs(relay, c) ?? JSON.stringify([token?.channel, ...fleets])
  return { holder, link: name }
}

/** `have`: the state of the page that the browser shows. */
async function showOpened(
  relay: Relay,
  c: Context,
  link: Link,
  opened: Found,
  have: string | undefined,
): Promise<Response> {
  const records =
    opened.outcome === 'open' ? [opened.record] : await readRecords(relay, opened.token)
  const live = await buildLive(relay, c, records)
  if (have === live.etag) return notModified(c, live.etag, live.now)
  c.header('etag', live.etag)
  // HEAD requests and prefetches come from machines
  if (have === undefined && c.req.method === 'GET' && !isPrefetch(c)) {
    for (const record of records) if (record) await noteOpened(relay, record)
  }
  const visitor = visitorIn(relay, c)
  if (opened.outcome === 'list') {
    const listed = await composeList(relay, link.shownBy, opened.token, records, visitor)
    return page(c, 200, listPage(listed, live))
  }
  const seen = await seenBy(relay, opened.record, link.shownBy, opened.token, visitor)
  return page(c, 200, eventPage(seen, live))
}

async function buildLive(relay: Relay, c: Context, records: (EventRecord | undefined)[]) {
  const now = relay.now()
  const content = records.map((record) => record && composeContent(record, now))
  const isOver = records.every((record) => record === undefined || record.ended !== undefined)
  return {
    now,
    etag: await buildEtag(JSON.stringify([signedInAs(relay, c), content])),
    refreshSeconds: isOver ? 0 : refreshSeconds,
  }
}

interface Form {
  /** What the form is bound to. */
  shownBy: string
  /** The state of the event that the form was made for. */
  seen: FormToken
  fields: URLSearchParams
  /** The event's place in a list. */
  place: string
}

async function postDecision(
  relay: Relay,
  guard: LinkGuard,
  { door, eventDoor }: Doors,
  c: Context,
): Promise<Response> {
  const link = await readLink(relay, guard, c)
  if (link instanceof Response) return link
  const form = await formIn(relay, c, link)
  // A holder of the link can send junk, which must not use up the budget for decisions.
  const busy = charge(relay, guard, c, link, decidesIn(form) ? 'decide' : 'junk')
  if (busy !== undefined) return busy
  const asker = askerIn(relay, c, link)
  const decided = await eventDoor.pass(asker, () => decideByLink(relay, c, link, form))
  if (decided === 'full') return page(c, 429, busyPage())
  if (decided instanceof Response) return decided
  const { list, place, status, shown } = decided
  // the list waits for its own turn, and meanwhile no decision waits for it
  const listed = await door.pass(asker, async () => {
    const records = (await readRecords(relay, list)).with(place, shown.record)
    const all = await composeList(relay, link.shownBy, list, records, visitorIn(relay, c))
    return listPage(all.with(place, shown), await buildLive(relay, c, records))
  })
  return page(c, status, listed === 'full' ? await showOne(relay, c, shown) : listed)
}

/** What a decision in a list did with the event at this place. The answer shows the whole list. */
interface DecidedInList {
  list: ListToken
  place: number
  status: number
  shown: Seen
}

async function decideByLink(
  relay: Relay,
  c: Context,
  { token }: Link,
  form: Form | undefined,
): Promise<Response | DecidedInList> {
  const opened = await find(relay, c, token)
  if (opened instanceof Response) return opened
  if (form === undefined) return page(c, 403, notFromHere(relay))
  if (opened.outcome === 'open') {
    const decided = await decide(relay, c, form, opened)
    if (decided instanceof Response) return decided
    return page(c, decided.status, await showOne(relay, c, decided.shown))
  }
  const { token: list } = opened
  const one = await find(relay, c, readOne(list, form.place))
  if (one instanceof Response) return one
  if (one.outcome === 'list') return page(c, 403, notFromHere(relay))
  const decided = await decide(relay, c, form, one)
  return decided instanceof Response ? decided : { list, place: Number(form.place), ...decided }
}

function decidesIn(form: Form | undefined): boolean {
  return decisions.has(form?.fields.get('decision') ?? '')
}

/** Undefined if the form is not from this link's page. Reads nothing from the store. */
async function formIn(
  relay: Relay,
  c: Context,
  { shownBy, token }: Link,
): Promise<Form | undefined> {
  if (!isOwnForm(relay, c)) return undefined
  // The browser may send the sign-in cookie with forms of other sites, too.
  if (signedInAs(relay, c) !== undefined && !isSurelyOwn(relay, c)) return undefined
  const fields = parseFields(await c.req.text())
  const place = fields.get('event') ?? ''
  const bound = token !== undefined && 'events' in token ? placeIn(shownBy, place) : shownBy
  const seen = await readFormToken(relay.credentials.linkKeys, bound, fields.get('form') ?? '')
  return seen && { shownBy: bound, seen, fields, place }
}

async function decide(
  relay: Relay,
  c: Context,
  { shownBy, seen, fields }: Form,
  opened: Extract<Found, { outcome: 'open' }>,
): Promise<Response | { status: number; shown: Seen }> {
  const decision = decisions.get(fields.get('decision') ?? '')
  if (decision === undefined) {
    const message =
      'The form field "decision" must be "approve", "not_now", "prepare", "take" or "give_back".'
    return page(c, 400, messagePage('Nothing was decided', message))
  }
  const visitor = visitorIn(relay, c)
  const { by } = await findViewer(relay, opened.record, { ...visitor, ...opened.token })
  const pressed = await decideByPress(relay, opened.record, {
    ...{ decision, seen },
    ...readWritten(by, fields),
  })
  const { record, status, answer } = pressed
  const shown = await seenBy(relay, record, shownBy, opened.token, visitor)
  return { status, shown: { ...shown, ...answer } }
}

async function showOne(relay: Relay, c: Context, shown: Seen): Promise<Page> {
  return eventPage(shown, await buildLive(relay, c, [shown.record]))
}

function notFromHere({ config }: Relay): Page {
  const where = `it begins with ${config.publicUrl}`
  const text = `Only the page behind the link can decide. Open the link as the message has it: ${where}.`
  return messagePage('Nothing was decided', text)
}

function visitorIn(relay: Relay, c: Context): Visitor {
  const pressed = c.req.method === 'POST' || c.req.header('sec-fetch-site') === 'same-origin'
  return { header: c.req.header(principalHeader), path: pathIn(relay, c), pressed }
}
