// Texts about an approval: Azure was told, could not be told, or changed the event afterwards.

import type { StartFailure } from '../event/event.ts'
import { undecidable } from '../event/facts.ts'
import { lastingClock, relative, span } from '../event/time.ts'
import type { EventView } from '../event/view.ts'
import {
  affectedVms,
  azureStarts,
  capital,
  describeAction,
  describeDecided,
  inSentence,
} from './phrases.ts'

/**
 * Why an approved event has not started, and what to do. `at` is the time that the text describes.
 */
export function stuckLines(event: EventView, at: number, now: number): string[] {
  const { accepted, failure } = event.azure
  if (accepted !== undefined) {
    const refused = failure === undefined ? [] : [`Since then, ${describeFailure(failure)}.`]
    const when = relative(accepted.at, now)
    return [
      `${tellerIn(accepted)} told Azure ${when} to ${describeAction(event)}, but Azure has not done so.`,
      ...refused,
      `Foghorn tells Azure again every minute. Check ${affectedVms(event)} in the Azure portal.`,
      ...byItself('If nothing helps', event, now),
    ]
  }
  const mayLackBeacons = event.azure.outside !== undefined
  const isForBeacons = failure === undefined && !mayLackBeacons
  const otherwise = isForBeacons ? ifNoBeacon(event) : 'If nothing helps'
  return [...whyNotTold(event, at, now), ...byItself(otherwise, event, now)]
}

/** After sentences that say who must report, or that a beacon must run. */
export function ifNoBeacon({ unheard }: EventView): string {
  if (unheard === undefined) return 'If no beacon can'
  return unheard.count === 1 ? `If ${unheard.vms[0]} does not report` : 'If none of them reports'
}

/** Nobody can tell Azure: people must read this before they decide. Empty if somebody can. */
export function unheardLines({ unheard, azure, facts, decided }: EventView, now: number): string[] {
  if (unheard === undefined || azure.accepted !== undefined) return []
  if (undecidable(facts) !== undefined) return []
  const { vms, count, isBlind } = unheard
  const how = isBlind ? 'not been able to read the event' : 'been silent'
  const who =
    count === 1
      ? `${vms[0]}, the only VM that sees this, has`
      : `${inSentence(vms, count)}, the only VMs that see this, have`
  const approval = decided?.decision === 'approved' ? 'The approval' : 'An approval'
  const waits = `${approval} waits until ${count === 1 ? 'it reports' : 'one of them reports'}.`
  return [`${who} ${how} since ${lastingClock(unheard.since, now)}.`, waits]
}

function whyNotTold(event: EventView, at: number, now: number): string[] {
  const { azure, decided, facts, unheard } = event
  const { failure, arm, outside } = azure
  const ago = decided === undefined ? '' : ` ${span(at - decided.at)} ago`
  // Azure itself reported it, so there may be no beacon
  if (failure === undefined && outside !== undefined) {
    return [
      `Approved${ago}, but Azure has not taken the approval yet. Foghorn keeps trying.`,
      ...armLines(arm),
    ]
  }
  if (unheard !== undefined) return [...unheardLines(event, now), ...armLines(arm)]
  if (failure === undefined) {
    const { resources } = facts
    const on = resources.length === 0 ? '' : ` on ${inSentence(resources)}`
    const run = resources.length === 1 ? 'the beacon%s runs' : 'the beacons%s run'
    return [
      `Approved${ago}, but no beacon has sent the approval to Azure yet. Foghorn keeps trying.`,
      ...armLines(arm),
      `Check that ${run.replace('%s', on)}. Any beacon that sees the event can send the approval.`,
    ]
  }
  const { outcome, vm } = failure
  const remedy =
    outcome === 'unreachable'
      ? `Check that ${vm} reaches Azure's metadata service at 169.254.169.254.`
      : `Check ${affectedVms({ facts })} in the Azure portal.`
  return [
    `${capital(describeFailure(failure))}.`,
    ...armLines(arm),
    `Foghorn keeps trying. ${remedy}`,
  ]
}

/** The way beside the beacons. */
export function armLines(arm: EventView['azure']['arm']): string[] {
  return arm?.failure === undefined ? [] : [`${describeArmFailure(arm.failure)}.`]
}

function describeArmFailure({ reason, status }: { reason: string; status?: number }): string {
  const answer = status === undefined ? '' : ` (HTTP ${status})`
  return `Azure Resource Manager did not take it from the relay${answer}: ${reason.replace(/\.$/, '')}`
}

/** Who told Azure: `web_3`, or the relay itself. */
export function tellerIn({ vm, through }: NonNullable<EventView['azure']['accepted']>): string {
  return through === undefined ? vm : `The relay (for ${vm})`
}

/** Why the last attempt failed. */
export function describeFailure({ vm, outcome, status }: Omit<StartFailure, 'at'>): string {
  const answer = status === undefined ? '' : ` (HTTP ${status})`
  return `the beacon on ${vm} ${failures[outcome]}${answer}`
}

export function isFailure(outcome: string): outcome is StartFailure['outcome'] {
  return Object.hasOwn(failures, outcome)
}

const failures: Record<StartFailure['outcome'], string> = {
  rejected: 'asked Azure, and Azure refused',
  unreachable: 'asked Azure, but got no answer',
  not_scheduled: 'does not see the event as Scheduled',
  not_as_approved: 'sees an event that differs from the approved one',
}

/** The approval no longer applies, because it does not cover what the event is now. */
export function expiryLines(event: EventView, asks: boolean): string[] {
  const { overruled, decided, facts, azure } = event
  const expired = overruled.at(-1)
  if (expired?.expiredAt === undefined || decided !== undefined) return []
  const added = namesBeyond(facts.resources, expired.scope?.resources)
  const why =
    added.length > 0
      ? `Azure added ${inSentence(added)} after the approval`
      : 'The event has changed since the approval'
  const again = asks ? ` Please decide again for ${inSentence(facts.resources)}.` : ''
  const azureLines =
    azure.acceptedBefore === undefined
      ? []
      : [
          `${tellerIn(azure.acceptedBefore)} had told Azure before, so Azure may still start the event.`,
        ]
  return [`${why}, so the approval no longer applies.${again}`, ...azureLines]
}

/** Azure added VMs after the approval, which cannot be taken back. */
export function growthLines(event: EventView, now: number): string[] {
  const { decided, azure, facts } = event
  const added = listUnapproved(event)
  if (added.length === 0) return []
  const those = added.length === 1 ? 'that VM' : 'those VMs'
  const nobody = `Azure added ${inSentence(added)} afterwards, but nobody approved ${those}.`
  if (azure.accepted === undefined) return [nobody]
  const approved = facts.resources.filter((name) => !added.includes(name))
  const before = inSentence(approved.length > 0 ? approved : (decided?.scope?.resources ?? []))
  const told = `${tellerIn(azure.accepted)} told Azure ${relative(azure.accepted.at, now)}`
  const eventType = decided?.scope?.eventType ?? facts.eventType
  const action = describeAction({ ...event, facts: { ...facts, eventType } }, before)
  return [`${told} to ${action}.`, nobody]
}

/** Adds the VMs to `describeDecided` if the decision is not for all of them. */
export function describeDecision(event: EventView): string | undefined {
  const { decided, facts } = event
  if (decided === undefined) return undefined
  const added = listUnapproved(event)
  const approved = facts.resources.filter((name) => !added.includes(name))
  const scope =
    added.length === 0 || approved.length === 0 ? '' : `, for ${inSentence(approved)} only`
  return describeDecided(decided) + scope
}

/** VMs that Azure added after the event was approved. */
export function listUnapproved({ facts, decided }: EventView): string[] {
  if (decided?.decision !== 'approved') return []
  return namesBeyond(facts.resources, decided.scope?.resources)
}

/** If the approval lists no VM, returns none: then nobody knows which VMs were added. */
function namesBeyond(names: string[], scope: string[] = []): string[] {
  return scope.length === 0 ? [] : names.filter((name) => !scope.includes(name.toLowerCase()))
}

/** What Azure does at NotBefore, if that is still to come. */
export function byItself(condition: string, event: EventView, now: number): string[] {
  const { notBeforeAt } = event.facts
  const isAhead = notBeforeAt !== undefined && notBeforeAt > now
  return isAhead ? [`${condition}, ${azureStarts(event, now)}.`] : []
}
