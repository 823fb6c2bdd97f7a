// Phrases that messages and pages share: what is hit, what that costs, who decided, why we believe it.
import { cut } from '../../../shared/document.ts'
import type { EventView } from '../delivery.ts'
import type { Decider, Inference, Values } from '../event.ts'
import type { SlackPerson } from './shape.ts'

/** What a title has room for beside the time, which must not be cut away: 150 characters in Slack. */
const limit = { names: 5, allNames: 64, name: 64, eventType: 24, listed: 40 }

/**
 * On one line, in reading order and of whole characters: names from outside may hold breaks, marks that
 * turn text, and halves of characters, for which some channels refuse a message.
 */
export function plain(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]+/gu, ' ')
}

/** `Reboot of web_3`, `Freeze of web_0, web_1, web_2, web_3, web_4 and 3 more`. */
export function subjectOf({ facts: { eventType, resources } }: EventView): string {
  const what = cut(plain(eventType), limit.eventType)
  const names = resources.slice(0, limit.names).map((name) => cut(plain(name), limit.name))
  if (names.length === 0) return `${what} of an unnamed VM`
  while (names.length > 1 && names.join(', ').length > limit.allNames) names.pop()
  const more = resources.length - names.length
  return `${what} of ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** As many names as somebody reads; the page has all. */
export function describeNames(resources: string[]): string {
  const more = resources.length - limit.listed
  const shown = resources.slice(0, limit.listed).join(', ')
  return `${shown}${more > 0 ? ` and ${more} more` : ''}` || 'not named'
}

/** What the type costs the VM, by Microsoft's documentation of Scheduled Events. */
export function impactOf(event: EventView): string {
  const { eventType, durationSeconds, resources } = event.facts
  const each = resources.length > 1 ? 'Each' : 'The'
  const known = durationSeconds !== undefined && durationSeconds > 0
  switch (eventType) {
    case 'Freeze': {
      const pause = known ? `for about ${durationSeconds} s` : 'usually for seconds'
      return `${each} VM pauses, ${pause}; memory and files stay.`
    }
    case 'Reboot':
      return `${each} VM restarts; what is only in memory is lost.`
    case 'Redeploy':
      return `${each} VM moves to other hardware; memory and temporary disks are lost.`
    case 'Preempt':
      return `${each} Spot VM is taken away.`
    case 'Terminate':
      return `${each} VM is deleted.`
    default:
      return `Foghorn does not know what "${cut(eventType, limit.eventType)}" does to a VM.`
  }
}

/** How far it reaches; nothing where that is not known, or where it goes without saying. */
export function reachOf({ facts, spared }: EventView): string[] {
  const hit = facts.resources.length
  if (spared === undefined || hit === 0) return []
  const vms = hit === 1 ? '1 VM' : `${hit} VMs`
  if (spared > 0) {
    const others = spared === 1 ? '1 other' : `${spared} others`
    return [`It hits ${vms} and spares ${others} that Foghorn hears from.`]
  }
  return hit === 1 ? [] : [`It hits ${vms}, and none that Foghorn hears from there is spared.`]
}

export function describeInference(inference: Inference): string {
  switch (inference) {
    case 'start_not_seen_vm_rebooted':
      return 'its start was not seen, but a VM that it hits restarted or was silent meanwhile'
    case 'start_not_seen_approved':
      return 'its start was not seen, but it had been approved'
    case 'start_not_seen_not_before_passed':
      return 'its start was not seen, but its time had come'
    case 'gone_before_its_time':
      return 'gone before its time: cancelled, or approved elsewhere'
    case 'vm_gone':
      return 'the VM is gone and nothing was heard from it since'
    case 'nobody_left_to_see':
      return 'no beacon that saw it has been heard since'
    case 'drill_overdue':
      return 'the relay did not run when the drill was to start'
  }
}

/** `approved by policy rule "short freeze"`, `not now, by a holder of the link sent to "ops"`. */
export function describeVerdict(verdict: NonNullable<EventView['verdict']>): string {
  const what = verdict.decision === 'approved' ? 'approved' : 'not now,'
  return `${what} by ${describeDecider(verdict)}`
}

/** `Slack user U0ADA`, wherever a message says who decided, where the id has Slack's form. */
export function slackPersonOf({ verdict }: Pick<EventView, 'verdict'>): SlackPerson | undefined {
  if (verdict?.how !== 'slack') return undefined
  const [, id = ''] = verdict.who.split('/')
  return /^[UW][A-Z0-9]{2,30}$/.test(id) ? { words: slackUser(id), id } : undefined
}

function slackUser(id: string): string {
  return `Slack user ${id}`
}

function describeDecider({ how, who }: Decider): string {
  const [place = '', person = ''] = who.split('/')
  const words: Record<Decider['how'], string> = {
    link: `a holder of the link sent to "${who}"`,
    slack: `${slackUser(person)} (team ${place}, signed by Slack)`,
    entra: `Entra user ${person} (tenant ${place}, signed in)`,
    admin: 'a holder of the admin key',
    policy: `policy rule "${who}"`,
  }
  return words[how]
}

/** Who is asked to decide: whoever reads the message, or people on lists, each with their way. */
export type Askers = 'readers' | 'in_slack' | 'signed_in' | 'in_slack_or_signed_in' | 'nobody'

/** By the names in `approvers` of those who may; empty: only the admin key may. */
export function askersOf(names: string[]): Exclude<Askers, 'readers'> {
  const inSlack = names.some((name) => name.startsWith('slack:'))
  const signedIn = names.some((name) => name.startsWith('entra:'))
  if (inSlack && signedIn) return 'in_slack_or_signed_in'
  if (inSlack) return 'in_slack'
  return signedIn ? 'signed_in' : 'nobody'
}

export const whoDecides: Record<Exclude<Askers, 'readers'>, string> = {
  in_slack: 'It is decided in Slack, by those listed.',
  signed_in: 'It is decided on its page, by those listed, signed in.',
  in_slack_or_signed_in: 'It is decided by those listed, in Slack, or signed in on its page.',
  nobody: 'Nobody who is listed may decide for all of its VMs; who has the admin key may.',
}

/**
 * What Azure does by itself: NotBefore is the earliest instant, not an appointment. The title says when
 * that is, and is not repeated.
 */
export function azureStarts({ facts: { notBeforeAt }, drill }: EventView, now: number): string {
  if (notBeforeAt === undefined) return 'Azure starts it at a time that it has not said'
  if (drill) return 'the drill starts at that time'
  return notBeforeAt > now
    ? 'Azure starts it at that time or soon after'
    : 'Azure may have started it since'
}

export function describeSource(source: string | undefined): string | undefined {
  if (source === 'Platform') return 'Azure itself'
  if (source === 'User') return 'a user of your subscription'
  return source
}

/** `about 30 s`; Azure's -1 means that it does not know. */
export function describeDuration(seconds: number | undefined): string {
  if (seconds === undefined || seconds < 0) return 'Azure does not say'
  return seconds === 0 ? 'no interruption expected' : `about ${seconds} s`
}

const changes: [keyof Values, string][] = [
  ['notBeforeAt', 'when it may start'],
  ['resources', 'which VMs it hits'],
  ['durationSeconds', 'how long it takes'],
  ['description', 'why'],
]

/** What the newest document says otherwise than the one before. */
export function describeChange({ changedAt = {} }: EventView): string[] {
  const newest = Math.max(...Object.values(changedAt))
  const changed = changes.filter(([key]) => changedAt[key] === newest).map(([, words]) => words)
  return changed.length === 0 ? [] : [`Azure changed ${changed.join(' and ')}.`]
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
