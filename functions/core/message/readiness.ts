// Texts about hooks: how many of the affected VMs are ready, which are not, and why.

import type { Hook } from '../../../shared/report.ts'
import { cut } from '../../../shared/text.ts'
import type { Ruled } from '../event/facts.ts'
import type { NotReady, Unrestored, VmReadiness, VmState } from '../event/hook-state.ts'
import type { EventView } from '../event/view.ts'
import { affectedVms, inSentence, plain } from './phrases.ts'

/** Hooks that failed or are held up, and have a sentence each. */
const maxFailures = 3
const maxOutput = 120

/** How many VMs are ready, and why others are not. Empty if no VM has a hook. */
export function readinessLines(event: EventView): string[] {
  const { wait, facts, started } = event
  const { readiness } = wait
  const total = facts.resources.length
  if (readiness === undefined || total === 0) return []
  const { ready = 0 } = readiness.counts
  const isBefore = started === undefined
  const are = (count: number) =>
    isBefore ? (count === 1 ? 'is' : 'are') : count === 1 ? 'was' : 'were'
  if (ready === total) {
    return [`${total === 1 ? affectedVms(event) : `All ${total} VMs`} ${are(total)} ready.`]
  }
  const count = total === 1 ? [] : [`${ready} of ${total} VMs ${are(ready)} ready.`]
  return [...count, ...failureLines(event), ...(isBefore ? otherLines(event) : [])]
}

/** The warning before the button that approves. Empty if every VM is ready, or none has a hook. */
export function approvesUnready({ wait: { readiness }, facts: { resources } }: EventView): string {
  if (readiness === undefined) return ''
  const { ready = 0 } = readiness.counts
  const count = resources.length - ready
  if (count <= 0) return ''
  const names = readiness.unready.map(({ vm }) => vm)
  const who = names.length === 0 ? 'Not every VM' : inSentence(names, count)
  const [are, them] = count === 1 || names.length === 0 ? ['is', 'it'] : ['are', 'them']
  const not = names.length === 0 ? '' : ' not'
  return plain(`${who} ${are}${not} ready. If you start it now, Azure does not wait for ${them}.`)
}

type Other = Exclude<VmState, 'failed' | 'refused' | 'ready'>

/** What the message says about one VM, and about several. */
const others: Record<Other, [one: string, several: string]> = {
  silent: ['does not report', 'do not report'],
  no_hook: ['has no hook', 'have no hooks'],
  awaited: ['has not reported the event yet', 'have not reported the event yet'],
  preparing: ['is preparing', 'are preparing'],
  planned: ['has not begun to prepare', 'have not begun to prepare'],
}

function otherLines({ wait: { readiness } }: EventView): string[] {
  const { unready, counts } = readiness!
  return (Object.keys(others) as Other[]).flatMap((state) => {
    const { [state]: total = 0 } = counts
    if (total === 0) return []
    const own = unready.filter((one) => one.state === state)
    const names = own.map(({ vm }) => vm)
    const who = names.length === 0 ? `${total} VMs` : inSentence(names, total)
    return [`${who} ${others[state][total === 1 ? 0 : 1]}.`, ...heldLines(own)]
  })
}

/** What holds up the hooks that run. */
function heldLines(preparing: VmReadiness[]): string[] {
  const held = preparing.filter(({ note = '' }) => note.trim() !== '')
  return held.slice(0, maxFailures).map(({ vm, note }) => `On ${vm}: ${outputIn(note)}.`)
}

function outputIn(note = ''): string {
  return `"${cut(plain(note).trim(), maxOutput)}"`
}

function failureLines({ wait: { readiness } }: EventView): string[] {
  const { unready, counts } = readiness!
  const failures = unready.filter(({ state }) => state === 'failed' || state === 'refused')
  const shown = failures.slice(0, maxFailures).map((one) => `${describeFailure('prepare', one)}.`)
  const more = (counts.failed ?? 0) + (counts.refused ?? 0) - shown.length
  return more > 0
    ? [...shown, `The hook also failed on ${more === 1 ? '1 more VM' : `${more} more VMs`}.`]
    : shown
}

/** `The hook "prepare" on web_1 failed with exit code 3: "disk busy"` */
function describeFailure(
  hook: Hook,
  { vm, state, exitCode, note = '' }: VmReadiness | Unrestored,
): string {
  const what = `The hook "${hook}" on ${vm}`
  const output = note.trim() === '' ? '' : `: ${outputIn(note)}`
  if (state === 'refused') return `${vm} refused to run the hook "${hook}"${output}`
  if (exitCode === undefined) return `${what} did not succeed${output}`
  return `${what} failed with exit code ${exitCode}${output}`
}

/** Says on how many VMs the hook `restore` succeeded after the event, and where it failed. */
export function restoreLines({ wait: { readiness } }: EventView): string[] {
  const { restore } = readiness ?? {}
  if (restore === undefined) return []
  const { succeeded = 0 } = restore.counts
  const total = Object.values(restore.counts).reduce((sum, count) => sum + count, 0)
  const vms = total === 1 ? '1 VM' : `${total} VMs`
  const failures = restore.failed
    .slice(0, maxFailures)
    .map((one) => `${describeFailure('restore', one)}.`)
  return [`The hook "restore" succeeded on ${succeeded} of ${vms}.`, ...failures]
}

const inVain: Record<NotReady['why'], string> = {
  cannot_be_ready: 'at least one VM cannot become ready',
  not_ready_in_time: 'not every VM was ready in time',
  no_turn_in_time: 'its turn did not come in time',
  too_many_vms: 'it affects more VMs of one group than "maxConcurrent" allows',
  group_unknown: 'not all of its VMs report, so the relay does not know their groups',
  vms_disagree: 'the VMs disagree about what it is',
  time_over: 'the time of the rule ended before it could',
}

const valueNames: Record<Ruled, string> = {
  eventType: 'type',
  resources: 'affected VMs',
  source: 'source',
  durationSeconds: 'duration',
}

export function describeInVain({ why, values = [] }: Pick<NotReady, 'why' | 'values'>): string {
  if (values.length === 0) return inVain[why]
  return `the VMs disagree about its ${values.map((name) => valueNames[name]).join(' and ')}`
}

/** Why a rule that waited asks people. */
export function inVainLines(event: EventView): string[] {
  const { wait, policy, decided } = event
  const { notReady } = wait
  if (notReady === undefined || policy.decide !== 'ask' || decided !== undefined) return []
  const behind = notReady.why === 'no_turn_in_time' ? describeBehind(event) : ''
  return [
    `Policy rule "${notReady.rule}" did not approve it: ${describeInVain(notReady)}${behind}.`,
  ]
}

/** Which VMs come first. Empty if none does. */
function describeBehind({ wait: { slot } }: EventView): string {
  const behind = slot?.state === 'waits' ? slot.behind : []
  return behind.length === 0 ? '' : `, after ${inSentence(behind)}`
}

/** What a rule that has not approved yet waits for. */
export function waitLines(event: EventView): string[] {
  const { policy, decided, facts, wait } = event
  const { whenReady, maxConcurrent } = policy
  if (decided !== undefined || policy.decide !== 'approve') return []
  if (!whenReady && maxConcurrent === undefined) return []
  const behind = describeBehind(event)
  const ready = facts.resources.length > 1 ? 'are all ready' : 'is ready'
  const vms = maxConcurrent === 1 ? '1 VM' : `${maxConcurrent} VMs`
  const hasSlot = maxConcurrent === undefined || wait.slot?.state === 'held'
  const until = [
    ...(hasSlot ? [] : [`its turn has come (at most ${vms} of a group at a time)`]),
    ...(whenReady ? [`${affectedVms(event)} ${ready}`] : []),
  ]
  return [
    ...(behind === '' ? [] : [`It waits for its turn${behind}.`]),
    `Policy rule "${policy.rule}" approves it${until.length === 0 ? '' : ` once ${until.join(' and ')}`}.`,
  ]
}
