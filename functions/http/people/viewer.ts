// Identifies the viewer of an event's page and judges whether they may decide. A signed-in person
// decides as themselves, anybody else as a holder of the link.
import { knownOf } from '../../core/event/drill.ts'
import type { Decider, EventRecord } from '../../core/event/event.ts'
import type { Observer } from '../../core/event/observer.ts'
import { decidersOf, permissionOf } from '../../core/rules/permission.ts'
import { readPrincipal } from '../../identity/principal.ts'
import type { Viewer, Way } from '../../pages/event.ts'
import { decidesHere } from '../../use-cases/decision-buttons.ts'
import type { Relay } from '../../use-cases/relay.ts'

/** The viewer of the page, with the name that a decision would be recorded under. */
interface Known extends Viewer {
  by: Decider
}

export interface Visit {
  /** `x-ms-client-principal`, unread. */
  header: string | undefined
  /** The channel whose link was opened, and the path of its page. */
  channel: string
  path: string
}

/** Reads observers only if a route lists approvers. */
export async function viewerOf(relay: Relay, record: EventRecord, visit: Visit): Promise<Known> {
  const { routes } = relay.config
  const hasLists = routes.some(({ approvers }) => approvers !== undefined)
  return judgeViewer(relay, record, hasLists ? await relay.store.readObservers(record) : [], visit)
}

function judgeViewer(
  relay: Relay,
  record: EventRecord,
  observers: Observer[],
  { header, channel, path }: Visit,
): Known {
  const { config } = relay
  const known = knownOf(record, observers)
  const ways = waysOf(decidersOf(config.routes, record, known))
  const places = ways.includes('slack')
    ? Object.keys(config.channels).filter((name) => decidesHere(relay, record, observers, name))
    : []
  const judge = (by: Decider) => ({
    by,
    permission: permissionOf(config.routes, record, known, by),
    ways,
    places,
  })
  const read = readPrincipal(config.signIn, header)
  if (read.outcome === 'signed_in') {
    const { tenant, user, name } = read.principal
    const viewer = judge({ how: 'entra', who: `${tenant}/${user}` })
    return { ...viewer, ...(name === undefined ? {} : { name }) }
  }
  const viewer = judge({ how: 'link', who: channel })
  const helps = config.signIn !== undefined && ways.includes('sign_in')
  return helps ? { ...viewer, signInUrl: signInUrl(path) } : viewer
}

function waysOf(deciders: ReturnType<typeof decidersOf>): Way[] {
  if (deciders === 'anybody') return []
  const has = (how: string) => deciders.some((one) => one.startsWith(how))
  return [
    ...(has('slack:') ? ['slack' as const] : []),
    ...(has('entra:') ? ['sign_in' as const] : []),
  ]
}

/** The host's own sign-in, which leads back to the page. */
export function signInUrl(path: string): string {
  return `/.auth/login/aad?post_login_redirect_uri=${encodeURIComponent(path)}`
}
