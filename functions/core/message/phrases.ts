// Phrases that messages and pages share: what is hit, what that costs, who decided, why we believe it.
import { cut } from '../../../shared/document.ts'
import { visible } from '../../../shared/presentable.ts'
import type { EventView } from '../delivery/delivery.ts'
import type { Decider, Ended, Inference, Proof } from '../event/event.ts'
import { lastingClock } from '../event/time.ts'

/** What fits into a title beside the time, which must not be cut: some kinds take 150 characters. */
const limit = { names: 5, allNames: 64, name: 64, eventType: 24, listed: 40, allListed: 400 }

/** Names from outside may hold line breaks, direction marks and invisible characters. */
export function plain(text: string): string {
  return visible(text)
}

/** Shown for a name without visible characters. */
const noName = '(blank)'

/** `Reboot of web_3`, `Freeze of web_0, web_1, web_2, web_3, web_4 and 3 more`. */
export function subjectOf({ facts: { eventType, resources } }: EventView): string {
  const what = cut(plain(eventType), limit.eventType)
  const names = resources
    .slice(0, limit.names)
    .map((name) => cut(plain(name).trim(), limit.name) || noName)
  if (names.length === 0) return `${what} of an unnamed VM`
  while (names.length > 1 && names.join(', ').length > limit.allNames) names.pop()
  const more = resources.length - names.length
  return `${what} of ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** As many names as somebody reads, and as leave room for the count of the others; the page has all. */
export function describeNames(resources: string[]): string {
  const names = resources.slice(0, limit.listed)
  while (names.length > 1 && names.join(', ').length > limit.allListed) names.pop()
  const more = resources.length - names.length
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}` || 'not named'
}

/** What the type costs the VM, by Microsoft's documentation of Scheduled Events. */
export function impactOf(event: EventView): string {
  const impact = impactOn(event.facts)
  return event.drill ? `In a real one, ${impact}` : capital(impact)
}

function impactOn({ eventType, durationSeconds, resources }: EventView['facts']): string {
  const each = resources.length > 1 ? 'each' : 'the'
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
      return `Azure evicts ${each} Spot VM.`
    case 'Terminate':
      return `${each} VM is deleted.`
    default:
      return `Foghorn does not know what "${cut(plain(eventType), limit.eventType)}" does to a VM.`
  }
}

const effects: Record<string, string> = {
  Freeze: 'pause',
  Reboot: 'restart',
  Redeploy: 'move to other hardware',
  Preempt: 'be evicted',
  Terminate: 'be deleted',
}

/** What may come where an event went before its time, and nobody can say why. */
export function aftermathOf({ facts: { eventType, resources } }: EventView): string {
  const vms = resources.length > 1 ? 'the VMs' : 'the VM'
  const may = Object.hasOwn(effects, eventType)
    ? `${vms} may still ${effects[eventType]}`
    : 'it may still happen'
  return `If it was approved elsewhere, ${may}.`
}

/** Whether Foghorn closed the event before, so that this is not its first sight. */
export function isBack({ epoch }: Pick<EventView, 'epoch'>): boolean {
  return epoch > 1
}

/** For an event whose end people were notified of. */
export function backLines(event: Pick<EventView, 'epoch'>): string[] {
  return isBack(event)
    ? ['It is back: Foghorn had closed this event, but Azure lists it again.']
    : []
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
  return hit === 1 ? [] : [`It hits ${vms}, and spares none of those that report it.`]
}

/** Whether an end that is told is a conclusion; a drill's are the relay's own. */
export function isGuess(ended: Pick<Ended, 'inferred'> | undefined): boolean {
  return ended?.inferred !== undefined && ended.inferred !== 'drill_overdue'
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
      return 'its time had come, and no VM that it hits has reported for 2 min'
    case 'nobody_left_to_see':
      return 'no beacon that saw it has reported on it since'
    case 'drill_overdue':
      return 'the relay did not run when the drill was to start'
  }
}

/** `approved by policy rule "short freeze"`, `not now, chosen through the link sent to "ops"`. */
export function describeVerdict(verdict: NonNullable<EventView['verdict']>): string {
  const what = verdict.decision === 'approved' ? 'approved' : 'not now, chosen'
  return `${what} ${describeDecider(verdict)}`
}

/** `Slack user U0ADA`: the words for a person, wherever a text says who decided. */
export function userOf({ how, who }: Decider): string {
  return `${capital(how)} user ${who.split('/')[1] ?? ''}`
}

function describeDecider(by: Decider): string {
  const { how, who } = by
  const [place = ''] = who.split('/')
  const words: Record<Decider['how'], string> = {
    link: `through the link sent to "${who}"`,
    slack: `by ${userOf(by)} (team ${place}, signed by Slack)`,
    entra: `by ${userOf(by)} (tenant ${place}, signed in)`,
    admin: 'with the admin key',
    policy: `by policy rule "${who}"`,
  }
  return words[how]
}

/**
 * Who is asked to decide: whoever reads the message, by its link or, as `pressers`, by buttons of its own; or
 * listed people.
 */
export type Askers = Readers | Listed

type Readers = 'readers' | 'pressers'

/** The ways that listed people have. With none of them, only the admin key decides. */
interface Listed {
  /** Services with messages whose buttons they can press, as people call them. */
  services: string[]
  /** On the page. */
  signedIn: boolean
}

/** Whether the message says what to do, rather than who does it. */
export function areReaders(askers: Askers): askers is Readers {
  return typeof askers === 'string'
}

/** `names`: who may, as `how:who`. `services`: by proof, those whose messages have buttons. */
export function askersOf(names: string[], services: Partial<Record<Proof, string>>): Listed {
  const has = (how: string) => names.some((name) => name.startsWith(`${how}:`))
  const own = Object.entries(services).filter(([how]) => has(how))
  return { services: own.map(([, service]) => service), signedIn: has('entra') }
}

export function whoDecides({ services, signedIn }: Listed): string {
  const only = 'Only listed approvers can decide'
  const buttons = `by the buttons in ${services.join(' or ')}`
  if (services.length > 0) {
    return signedIn ? `${only}: ${buttons}, or signed in on the page.` : `${only}, ${buttons}.`
  }
  return signedIn
    ? `${only}: open the page and sign in.`
    : 'No approver covers all of its VMs; only the admin key can decide.'
}

/**
 * What Azure does by itself: NotBefore is the earliest instant, not an appointment. `meanwhile`: what is to be
 * said of the time since then, to whoever reads that it has passed.
 */
export function azureStarts(
  { facts: { notBeforeAt }, drill }: Pick<EventView, 'facts' | 'drill'>,
  now: number,
  meanwhile = ', or has by now',
): string {
  if (notBeforeAt === undefined) return 'Azure starts it, but has not said when'
  const time = lastingClock(notBeforeAt, now)
  if (notBeforeAt > now) {
    return drill ? `the drill starts at ${time}` : `Azure starts it at ${time} or soon after`
  }
  return `${drill ? 'the drill may start' : 'Azure may start it'} at any moment${meanwhile}`
}

/** Who is behind it. */
export function askedBy({
  facts: { source },
  drill,
}: Pick<EventView, 'facts' | 'drill'>): string | undefined {
  if (drill) return 'whoever started the drill'
  if (source === 'Platform') return 'Azure itself'
  if (source === 'User') return 'a user of your subscription'
  return source
}

/** `about 30 s`; Azure's -1 means that it does not know. */
export function describeDuration(seconds: number | undefined): string {
  if (seconds === undefined || seconds < 0) return 'Azure does not say'
  return seconds === 0 ? 'no interruption expected' : `about ${seconds} s`
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
