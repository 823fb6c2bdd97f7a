// Identifies the viewer of an event's page and judges whether they may decide. A signed-in person
// decides as themselves, anybody else as a holder of the link.

import { knownVms } from '../../core/event/drill.ts'
import type { Decider, EventRecord } from '../../core/event/event.ts'
import { judgePermission, listDeciders } from '../../core/rules/permission.ts'
import { readPrincipal } from '../../identity/principal.ts'
import type { Viewer, Way } from '../../pages/event.ts'
import { listPlaces, readButtonSupport } from '../../use-cases/decision-buttons.ts'
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

export async function findViewer(
  relay: Relay,
  record: EventRecord,
  { header, channel, path }: Visit,
): Promise<Known> {
  const { config } = relay
  const read = readPrincipal(config.signIn, header)
  if (read.outcome === 'signed_in') {
    const { tenant, user, name } = read.principal
    const by: Decider = { how: 'entra', who: `${tenant}/${user}`, ...(name && { name }) }
    return { by, ...(await findPerson(relay, record, by, name)) }
  }
  const known = knownVms(record)
  const by: Decider = { how: 'link', who: channel }
  const permission = judgePermission(config.routes, record, known, by)
  const ways = listWays(relay, record, listDeciders(config.routes, record, known))
  const helps = config.signIn !== undefined && ways.includes('sign_in')
  return {
    by,
    permission,
    ways,
    isUnproved: true,
    ...(helps ? { signInUrl: signInUrl(path) } : {}),
  }
}

/** A person who signed in. Other ways would not help them. */
export async function findPerson(
  relay: Relay,
  record: EventRecord,
  by: Decider,
  name: string | undefined,
): Promise<Viewer> {
  const permission = judgePermission(relay.config.routes, record, knownVms(record), by)
  return { permission, ways: [], ...(name === undefined ? {} : { name }) }
}

export function hasApprovers({ routes }: Relay['config']): boolean {
  return routes.some(({ approvers }) => approvers !== undefined)
}

function listWays(
  relay: Relay,
  record: EventRecord,
  deciders: ReturnType<typeof listDeciders>,
): Way[] {
  if (deciders === 'anybody') return []
  const has = (how: string) => deciders.some((one) => one.startsWith(`${how}:`))
  const places = listPlaces(relay, record).flatMap((channel) => {
    const support = readButtonSupport(relay, channel)
    return support !== undefined && has(support.how) ? [{ channel, ...support }] : []
  })
  const inMessages = [...Map.groupBy(places, ({ service }) => service)].map(([service, some]) => ({
    service,
    channels: some.map(({ channel }) => channel),
  }))
  const isByEntra = places.some(({ how }) => how === 'entra')
  const signsIn = has('entra') && (relay.config.signIn !== undefined || !isByEntra)
  return [...inMessages, ...(signsIn ? ['sign_in' as const] : [])]
}

/** The host's own sign-in, which leads back to the page. */
export function signInUrl(path: string): string {
  return `/.auth/login/aad?post_login_redirect_uri=${encodeURIComponent(path)}`
}
