// Phrases that messages and pages share: which VMs, the impact, who decided, why we believe it.
import { adviceType, isAdvice } from '../../../shared/document.ts'
import { visible } from '../../../shared/presentable.ts'
import { cut } from '../../../shared/text.ts'
import type { Decided, Decider, Ended, Inference } from '../event/event.ts'
import { countVms, type Undecidable } from '../event/facts.ts'
import { namedOnlyOutside } from '../event/outside.ts'
import { readProof } from '../event/proof.ts'
import { lastingClock } from '../event/time.ts'
import type { EventView } from '../event/view.ts'
import { maxVms } from '../limits.ts'

/** Some kinds cut a title after 150 characters. It must have room for the time. */
const limit = {
  names: 5,
  inSentence: 3,
  allNames: 64,
  name: 64,
  eventType: 24,
  listed: 40,
  allListed: 400,
}

/** Names from outside may contain line breaks, direction marks and invisible characters. */
export function plain(text: string): string {
  return visible(text)
}

/** Shown for a name without visible characters. */
const noName = '(blank)'

/** `Reboot of web_3`, `Freeze of web_0, web_1, web_2, web_3, web_4 and 3 more`. */
export function describeSubject(event: Pick<EventView, 'facts'>): string {
  return `${typeIn(event)} of ${vmsIn(event)}`
}

export function typeIn({ facts }: Pick<EventView, 'facts'>): string {
  if (isAdvice(facts)) return 'Possible eviction'
  return cut(plain(facts.eventType), limit.eventType)
}

/** `web_3`, `web_0, web_1, web_2, web_3, web_4 and 3 more` */
export function vmsIn({ facts }: Pick<EventView, 'facts'>): string {
  const names = facts.resources
    .slice(0, limit.names)
    .map((name) => cut(plain(name).trim(), limit.name) || noName)
  if (names.length === 0) return 'an unnamed VM'
  while (names.length > 1 && names.join(', ').length > limit.allNames) names.pop()
  const more = countVms(facts) - names.length
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** The first names, and the number of the others. The page lists all names. */
export function describeNames(resources: string[], count = resources.length): string {
  const names = resources.slice(0, limit.listed)
  while (names.length > 1 && names.join(', ').length > limit.allListed) names.pop()
  const more = count - names.length
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}` || 'not named'
}

/** The VMs that Azure names outside the VMs, and that the affected VMs do not see. */
export function describeOthers(event: Parameters<typeof namedOnlyOutside>[0]): string | undefined {
  const names = namedOnlyOutside(event)
  return names.length === 0 ? undefined : describeNames(names)
}

/** What Kubernetes calls the affected VMs. */
export function describeNodes(vms: EventView['vms'] = []): string | undefined {
  const names = vms.flatMap(({ node }) => (node === undefined ? [] : [node]))
  return names.length === 0 ? undefined : describeNames(names)
}

/** What the affected nodes of Kubernetes ran. */
export function describeWorkloads(vms: EventView['vms'] = []): string | undefined {
  const names = [...new Set(vms.flatMap(({ workloads = [] }) => workloads))]
  return names.length === 0 ? undefined : describeNames(names)
}

/** What the event does to its VMs, by Microsoft's documentation of Scheduled Events. */
export function describeImpact(event: EventView): string {
  const impact = impactOn(event.facts)
  return event.drill ? `In a real event, ${impact}` : capital(impact)
}

function impactOn({ eventType, durationSeconds, resources }: EventView['facts']): string {
  const each = resources.length > 1 ? 'each' : 'the'
  const known = durationSeconds !== undefined && durationSeconds > 0
  switch (eventType) {
    case 'Freeze': {
      const pause = known ? ` for about ${durationSeconds} s` : ', usually for seconds'
      return `${each} VM pauses${pause}. Memory and files are kept.`
    }
    case 'Reboot':
      return `${each} VM restarts. Data that is only in memory is lost.`
    case 'Redeploy':
      return `${each} VM moves to other hardware. Memory and temporary disks are lost.`
    case 'Preempt':
      return `Azure evicts ${each} Spot VM.`
    case 'Terminate':
      return `${each} VM is deleted.`
    case adviceType:
      return `Azure may evict ${each} Spot VM soon, or never. An eviction is announced once more.`
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

/** What may still happen after an event disappeared early. */
export function describeAftermath(event: EventView): string {
  const { eventType } = event.facts
  const may = Object.hasOwn(effects, eventType)
    ? `${affectedVms(event)} may still ${effects[eventType]}`
    : 'it may still happen'
  return `If somebody approved it outside Foghorn, ${may}.`
}

/** Whether Foghorn had closed the event before. */
export function isReopened({ epoch }: Pick<EventView, 'epoch'>): boolean {
  return epoch > 1
}

export function backLines(event: Pick<EventView, 'epoch'>): string[] {
  return isReopened(event)
    ? ['It is back: Foghorn had closed this event, but Azure lists it again.']
    : []
}

/** How many VMs see the event, but are not affected. */
export function describeReach({ facts, spared = 0 }: EventView): string[] {
  if (spared === 0 || countVms(facts) === 0) return []
  if (spared === 1) return ['1 other VM reports it, but is not affected.']
  return [`${spared} other VMs report it, but are not affected.`]
}

/** Why nobody can decide. */
export const whyUndecidable: Record<Undecidable, string> = {
  too_many_vms: `Foghorn decides nothing about an event of more than ${maxVms} VMs.`,
  nothing_to_decide: 'It is advice from Azure: there is nothing to decide.',
}

/** Whether Foghorn inferred the end. It ends drills itself, so it does not infer theirs. */
export function isGuess(ended: Pick<Ended, 'inferred'> | undefined): boolean {
  return ended?.inferred !== undefined && ended.inferred !== 'drill_overdue'
}

export function describeInference(inference: Inference): string {
  switch (inference) {
    case 'start_not_seen_vm_rebooted':
      return 'no beacon saw it start, but an affected VM restarted or was silent at that time'
    case 'start_not_seen_approved':
      return 'no beacon saw it start, but it had been approved'
    case 'start_not_seen_not_before_passed':
      return 'no beacon saw it start, but it was due'
    case 'gone_before_its_time':
      return 'it disappeared before it was due: cancelled, or approved outside Foghorn'
    case 'vm_gone':
      return 'it was due or approved, and no affected VM has reported for 2 min'
    case 'nobody_left_to_see':
      return 'the VMs that saw it no longer report, or can no longer poll'
    case 'drill_overdue':
      return 'the relay was not running when the drill was due'
  }
}

/** `approved by policy rule "short freeze"`, `left to Azure with the admin key ("the backup runs")`. */
export function describeDecided(
  decided: Pick<Decided, 'decision' | 'how' | 'who' | 'reason'>,
): string {
  const { decision, reason } = decided
  const what = decision === 'approved' ? 'approved' : 'left to Azure'
  const why = reason === undefined ? '' : ` ("${reason}")`
  return `${what} ${describeDecider(decided)}${why}`
}

/** The name of a person in every text, such as `Entra user 0b6f…`. A service may replace it by a mention. */
export function describeUser({ how, who }: Decider): string {
  return `${capital(how)} user ${who.split('/')[1] ?? ''}`
}

export function describeDecider(by: Decider): string {
  const { how, who, name: called = '' } = by
  const { person } = readProof(how)
  const [place = '', name = ''] = who.split('/')
  if (person !== undefined) {
    return called
      ? `by ${cut(plain(called), limit.name)} (${describeUser(by)})`
      : `by ${describeUser(by)} (${person.place} ${place}, ${person.by})`
  }
  // in quotes: nobody has proved it
  const given = called ? `by "${cut(plain(called), limit.name)}", ` : ''
  const words: Partial<Record<Decider['how'], string>> = {
    link: `${given}through the link sent to "${who}"`,
    admin: `${given}with the admin key`,
    token: `with the token "${name}" (id ${place})`,
    policy: `by policy rule "${who}"`,
  }
  return words[how] ?? ''
}

const maxInSentence = 5

/**
 * Names as many VMs as fit into a sentence. The facts below it list the others. `total`: how many
 * there are, if `names` is cut.
 */
export function inSentence(names: string[], total = names.length): string {
  const shown = total > maxInSentence ? names.slice(0, maxInSentence) : names.slice(0, -1)
  const rest = total - shown.length
  const last = rest > 1 ? `${rest} more` : (names.at(-1) ?? 'unnamed VMs')
  return shown.length === 0 ? last : `${shown.join(', ')} and ${last}`
}

/** The VMs in a sentence: `web_3`, `web_0 and web_1`, `these 40 VMs`. */
export function affectedVms({ facts }: Pick<EventView, 'facts'>): string {
  const names = facts.resources.map((name) => cut(plain(name).trim(), limit.name) || noName)
  if (names.length === 0) return 'the VM'
  if (names.length === 1) return names[0]!
  const text = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
  const isShort = names.length <= limit.inSentence && text.length <= limit.allNames
  return isShort ? text : `these ${countVms(facts)} VMs`
}

const actions: Record<string, string> = {
  Freeze: 'pause',
  Reboot: 'restart',
  Redeploy: 'redeploy',
  Preempt: 'evict',
  Terminate: 'delete',
}

/** What Azure does to the VMs, as a verb with its object: `restart web_3`. */
export function describeAction(
  { facts, drill }: Pick<EventView, 'facts' | 'drill'>,
  vms = affectedVms({ facts }),
): string {
  const isKnown = !drill && Object.hasOwn(actions, facts.eventType)
  return isKnown ? `${actions[facts.eventType]} ${vms}` : 'start it'
}

/** What the button that approves says: `Restart`. `now` or `anyway` follows. */
export function chooseVerb({ facts, drill }: Pick<EventView, 'facts' | 'drill'>): string {
  return capital(
    (!drill && Object.hasOwn(actions, facts.eventType) && actions[facts.eventType]) || 'start',
  )
}

/** What the other button says: `Let Azure restart it`. */
export function leaveTo(event: Pick<EventView, 'facts' | 'drill'>): string {
  const verb = chooseVerb(event).toLowerCase()
  const them = event.facts.resources.length > 1 && verb !== 'start' ? 'them' : 'it'
  return event.drill ? 'Let the drill start' : `Let Azure ${verb} ${them}`
}

/**
 * What happens without a decision. Azure starts an event at NotBefore or later. `meanwhile` is
 * added if NotBefore has passed.
 */
export function azureStarts(
  event: Pick<EventView, 'facts' | 'drill'>,
  now: number,
  meanwhile = ', or already has',
): string {
  return `${describeStarter(event)} ${startsBy(event, now, meanwhile)}`
}

function describeStarter({ drill }: Pick<EventView, 'drill'>): string {
  return drill ? 'the drill' : 'Azure'
}

function startsBy(
  event: Pick<EventView, 'facts' | 'drill'>,
  now: number,
  meanwhile: string,
): string {
  const { facts, drill } = event
  const { notBeforeAt } = facts
  const action = drill ? 'start' : describeAction(event)
  if (notBeforeAt === undefined) return `will ${action}, but has not said when`
  if (notBeforeAt <= now) return `may ${action} at any moment${meanwhile}`
  const time = lastingClock(notBeforeAt, now)
  return drill ? `starts at ${time}` : `will ${action} at ${time} or soon after`
}

export function askedBy({
  facts: { source },
  drill,
}: Pick<EventView, 'facts' | 'drill'>): string | undefined {
  if (drill) return 'the owner who started the drill'
  if (source === 'Platform') return 'Azure'
  if (source === 'User') return 'a user of your subscription'
  return source
}

/** `about 30 s`. Azure's -1 means unknown. */
export function describeDuration(seconds: number | undefined): string {
  if (seconds === undefined || seconds < 0) return 'unknown'
  return seconds === 0 ? 'no interruption' : `about ${seconds} s`
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
