// Deciding in the console: by the admin key or a token with `decide`, or by a person who may decide on
// the page behind a link, too. A token that only reads decides nothing.
import type { Context } from 'hono'
import { stampOf } from '../../core/event/approval.ts'
import { knownOf } from '../../core/event/drill.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { deciderOf, may, seesFleet } from '../../core/rules/access.ts'
import { decidersOf, permissionOf } from '../../core/rules/permission.ts'
import type { Seen, Viewer } from '../../pages/event.ts'
import { isDecidable } from '../../pages/state.ts'
import { decideEvent } from '../../use-cases/decide-event.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { decisionTokenFor, nameOf, readDecision } from '../admin/console-form.ts'
import { answers, decisions, stored } from '../decision-answers.ts'
import { isSurelyOwn } from '../form.ts'
import { pressGuardMs } from '../people/seen.ts'
import type { Visitor } from './visitor.ts'

/** Whether this visitor ever decides. A person may for some events. */
export function mayDecide({ access }: Visitor): boolean {
  return access.by === 'entra' || may(access, 'decide')
}

/** The event as this visitor sees it. `pressed`: they come from a press, which may be a double one. */
export async function seenIn(
  relay: Relay,
  c: Context,
  visitor: Visitor,
  record: EventRecord,
  pressed = false,
): Promise<Seen> {
  const countsAt = pressed ? relay.now() + pressGuardMs : 0
  const isOpen = isDecidable(record) && mayDecide(visitor)
  const form = isOpen
    ? await decisionTokenFor(relay, c, record, { stamp: stampOf(record), countsAt })
    : ''
  const viewer = await viewerIn(relay, visitor, record)
  return { record, viewer, form, name: nameOf(record), listed: false }
}

/** Reads observers only for a person, and only if a route lists approvers. */
async function viewerIn(relay: Relay, { access }: Visitor, record: EventRecord): Promise<Viewer> {
  const { routes } = relay.config
  const by = deciderOf(access)
  if (access.by !== 'entra') return { permission: 'allowed', ways: [], places: [] }
  const needsFacts = routes.some(({ approvers }) => approvers !== undefined)
  const observers = needsFacts ? await relay.store.readObservers(record) : []
  const known = knownOf(record, observers)
  const permission = permissionOf(routes, record, known, by)
  const deciders = decidersOf(routes, record, known)
  const bySlack = deciders !== 'anybody' && deciders.some((one) => one.startsWith('slack:'))
  const name = access.name === undefined ? {} : { name: access.name }
  return { permission, ways: bySlack ? ['slack'] : [], places: [], ...name }
}

/**
 * Whether the list of open events can tell what this visitor may. For a person it may take facts of
 * the VMs, which only the event's own page reads.
 */
export function choicesOf({ config }: Relay, visitor: Visitor, record: EventRecord) {
  if (!isDecidable(record) || !mayDecide(visitor)) return 'none'
  const hasLists = config.routes.some(({ approvers }) => approvers !== undefined)
  return visitor.access.by === 'entra' && hasLists ? 'elsewhere' : 'here'
}

type Outcome =
  | { outcome: 'answered'; status: number; said: string; record: EventRecord; mine: Seen['mine'] }
  | { outcome: 'not_ours' | 'unknown' | 'not_allowed' }

/** What the form in the request did. */
export async function decideByForm(relay: Relay, c: Context, visitor: Visitor): Promise<Outcome> {
  const { access } = visitor
  // the browser may send the host's sign-in cookie with forms of other sites, too
  if (access.by === 'entra' && !isSurelyOwn(relay, c)) return { outcome: 'not_ours' }
  const form = await readDecision(relay, c)
  if (form === undefined) return { outcome: 'not_ours' }
  const decision = decisions.get(form.wish)
  if (decision === undefined) return { outcome: 'not_ours' }
  if (!mayDecide(visitor)) return { outcome: 'not_allowed' }
  const before = seesFleet(access, form.key.fleet)
    ? await relay.store.readEvent(form.key)
    : undefined
  if (before === undefined || before.alert !== undefined) return { outcome: 'unknown' }
  const { outcome, record } =
    relay.now() < form.seen.countsAt
      ? { outcome: 'too_quick' as const, record: before }
      : await decideEvent(relay, before, {
          decision,
          by: deciderOf(access),
          seen: form.seen.stamp,
        })
  const { said, status = 200 } =
    outcome === 'decided' ? { said: stored[decision] } : answers[outcome]
  const mine = outcome === 'decided' && decision !== 'prepare' ? decision : undefined
  return { outcome: 'answered', status, said, record, mine }
}
