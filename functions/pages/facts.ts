// The details on an event's page. They change only with the event, so an open page gets them again
// only if the event has changed.

import type { EventRecord } from '../core/event/event.ts'
import { type HitVm, hitVms, maxAnswerVmBytes } from '../core/event/hit-vms.ts'
import type { VmState } from '../core/event/hook-state.ts'
import { readProof } from '../core/event/proof.ts'
import { minuteUtc, utc } from '../core/event/time.ts'
import { toView } from '../core/event/view.ts'
import { compose } from '../core/message/message.ts'
import { capital, describeDecided, describeNames, plain } from '../core/message/phrases.ts'

type Fact = [name: string, value: string]

export function listFacts(record: EventRecord): Fact[] {
  const { decided, overruled } = record
  const at = record.firstSeenAt
  const view = { ...toView(record), vms: listKnownVms(record) }
  const { facts, reference } = compose({ moment: 'scheduled', at, event: view }, at)
  // A message lists only the first names.
  const firstNames = plain(describeNames(record.facts.resources, record.facts.vmCount))
  const names = allNames(record) || firstNames
  const shown = facts
    .filter(({ name }) => name !== 'Decision')
    .map(({ name, value }): Fact => [name, value === firstNames ? names : value])
  return [
    ...overruled.map((one): Fact => ['Earlier decision', inWords(one)]),
    ...shown,
    ...unreadyIn(record),
    ...(decided ? [['Proof', readProof(decided.how).proves] as Fact] : []),
    ['Reference', reference],
  ]
}

/** What is known of the affected VMs, without their readiness. */
export function listKnownVms(record: EventRecord): HitVm[] {
  const at = record.firstSeenAt
  return hitVms(record, { now: at, listeningSince: at }, maxAnswerVmBytes)
}

export const readinessWords: Record<VmState, string> = {
  failed: 'hook failed',
  refused: 'hook refused',
  silent: 'no report',
  no_hook: 'no hook',
  awaited: 'no report yet',
  preparing: 'preparing',
  planned: 'not begun',
  ready: 'ready',
}

/** The record lists the first VMs that are not ready. */
function unreadyIn({ wait: { readiness } }: EventRecord): Fact[] {
  const rows = (readiness?.unready ?? []).map(({ vm, state, since }) => {
    const from = since === undefined ? '' : `, since ${minuteUtc(utc(since))}`
    return plain(`${vm} (${readinessWords[state]}${from})`)
  })
  return rows.length === 0 ? [] : [['Not ready', rows.join(', ')]]
}

export function allNames({ facts: { resources, vmCount = 0 } }: EventRecord): string {
  const more = vmCount > resources.length ? ` and ${vmCount - resources.length} more` : ''
  return plain(resources.join(', ') + more)
}

function inWords(decided: NonNullable<EventRecord['decided']>): string {
  const { at, expiredAt } = decided
  const expired = expiredAt === undefined ? '' : `; it expired ${utc(expiredAt)}`
  return capital(plain(`${describeDecided(decided)}, ${utc(at)}${expired}`))
}
