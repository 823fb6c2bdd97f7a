// What somebody sees by a link: the event, whether they may decide it, and the token of the form. The
// relay's own identity check plugs in here; a bare link proves nobody.
import { knownOf, openToken } from './approve.ts'
import { stampOf } from './core/approval.ts'
import type { Decider, EventRecord } from './core/event.ts'
import { listsOf, permissionOf } from './core/permission.ts'
import { createFormToken, type LinkToken, type ListToken, oneOf } from './link.ts'
import type { Seen, Viewer, Way } from './pages/event.ts'
import type { Listed } from './pages/list.ts'
import type { Relay } from './relay.ts'

/** Who decides by this request, and how we know. */
export function deciderOf({ channel }: LinkToken): Decider {
  return { how: 'link', who: channel }
}

/** What whoever holds the link may do, and how others would prove that they may. */
async function viewerOf(relay: Relay, record: EventRecord, token: LinkToken): Promise<Viewer> {
  const { routes } = relay.config
  // most routes name nobody, and then the observers need not be read
  if (routes.every(({ approvers }) => approvers === undefined)) {
    return { permission: 'allowed', ways: [] }
  }
  const known = knownOf(record, await relay.store.readObservers(record))
  const permission = permissionOf(routes, record, known, deciderOf(token))
  return { permission, ways: waysOf(listsOf(routes, record, known)) }
}

/** Whoever decides stands in every list. */
function waysOf(lists: string[][]): Way[] {
  const has = (how: string) => lists.every((list) => list.some((one) => one.startsWith(how)))
  const ways: Way[] = []
  if (lists.length > 0 && has('slack:')) ways.push('slack')
  if (lists.length > 0 && has('entra:')) ways.push('sign_in')
  return ways
}

/** The event as a link shows it; `shownBy` is what its form is bound to. */
export async function seenBy(
  relay: Relay,
  record: EventRecord,
  shownBy: string,
  token: LinkToken,
): Promise<Seen> {
  const viewer = await viewerOf(relay, record, token)
  return { record, viewer, form: await createFormToken(relay.linkKeys, shownBy, stampOf(record)) }
}

/** What the form of one event of a list is bound to. */
export function placeIn(link: string, place: string | number): string {
  return `${link}#${place}`
}

/** Undefined: an event that is not known any more, or long over. */
export function recordsOf(relay: Relay, list: ListToken): Promise<(EventRecord | undefined)[]> {
  return Promise.all(
    list.events.map(async (_, place) => {
      const opened = await openToken(relay, oneOf(list, String(place))!)
      return opened.outcome === 'open' ? opened.record : undefined
    }),
  )
}

/** The same as this list shows them. */
export async function listOf(relay: Relay, link: string, list: ListToken): Promise<Listed[]> {
  const records = await recordsOf(relay, list)
  return Promise.all(
    records.map(async (record, place) => {
      const own = oneOf(list, String(place))!
      return record && seenBy(relay, record, placeIn(link, place), own)
    }),
  )
}
