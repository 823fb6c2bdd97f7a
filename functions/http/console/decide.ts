// Deciding in the console: by the admin key or a token with `decide`, or by a person who may decide on
// the page behind a link, too. A token that only reads decides nothing.
import type { Context } from 'hono'
import { makeStamp } from '../../core/event/approval.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { may, seesFleet, toDecider } from '../../core/rules/access.ts'
import type { Seen, Viewer } from '../../pages/event.ts'
import { isDecidable } from '../../pages/state.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { chooseName, decisionTokenFor, readDecision } from '../api/console-form.ts'
import { decideByPress, decisions, type Pressed, readWritten } from '../decision-answers.ts'
import type { Door } from '../door.ts'
import { isSurelyOwn } from '../form.ts'
import { pressGuardMs } from '../people/seen.ts'
import { findPerson, hasApprovers } from '../people/viewer.ts'
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
    ? await decisionTokenFor(relay, c, record, { stamp: makeStamp(record), countsAt })
    : ''
  const viewer = await viewerIn(relay, visitor, record)
  return { record, viewer, form, name: chooseName(record), listed: false }
}

async function viewerIn(relay: Relay, { access }: Visitor, record: EventRecord): Promise<Viewer> {
  return access.by === 'entra'
    ? findPerson(relay, record, toDecider(access), access.name)
    : { permission: 'allowed', ways: [], ...(access.by === 'admin' && { isUnproved: true }) }
}

/**
 * Whether the list of open events can tell what this visitor may. For a person it may take facts of
 * the VMs, which only the event's own page reads.
 */
export function readChoices({ config }: Relay, visitor: Visitor, record: EventRecord) {
  if (!isDecidable(record) || !mayDecide(visitor)) return 'none'
  return visitor.access.by === 'entra' && hasApprovers(config) ? 'elsewhere' : 'here'
}

type Outcome =
  | { outcome: 'answered'; pressed: Pressed[] }
  | { outcome: 'not_ours' | 'unknown' | 'not_allowed' | 'busy' | 'busy_midway' }

/** What the form in the request did, with each of its events. Each takes its turn. */
export async function decideByForm(
  relay: Relay,
  eventDoor: Door,
  c: Context,
  visitor: Visitor,
): Promise<Outcome> {
  const { access } = visitor
  // the browser may send the host's sign-in cookie with forms of other sites, too
  if (access.by === 'entra' && !isSurelyOwn(relay, c)) return { outcome: 'not_ours' }
  const form = await readDecision(relay, c)
  if (form === undefined) return { outcome: 'not_ours' }
  const decision = decisions.get(form.fields.get('decision') ?? '')
  if (decision === undefined) return { outcome: 'not_ours' }
  if (!mayDecide(visitor)) return { outcome: 'not_allowed' }
  const wish = { decision, ...readWritten(toDecider(access), form.fields) }
  const pressed: Pressed[] = []
  for (const { key, seen } of form.events) {
    const one = await eventDoor.pass(access, async () => {
      const before = seesFleet(access, key.fleet) ? await relay.store.readEvent(key) : undefined
      return before && decideByPress(relay, before, { ...wish, seen })
    })
    if (one === 'full') return { outcome: pressed.length === 0 ? 'busy' : 'busy_midway' }
    if (one !== undefined) pressed.push(one)
  }
  return pressed.length === 0 ? { outcome: 'unknown' } : { outcome: 'answered', pressed }
}
