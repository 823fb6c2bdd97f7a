// What an event's page lists under "The event", as text: it changes only with the event, so a page that stands
// open gets it again when the event has moved.
import { viewOf } from '../core/delivery/delivery.ts'
import type { EventRecord } from '../core/event/event.ts'
import { utc } from '../core/event/time.ts'
import { capital, compose, describeVerdict, plain } from '../core/message/message.ts'
import { minuteUtc } from './times.ts'

export type Fact = [name: string, value: string]

export function factsOf(record: EventRecord): Fact[] {
  const { verdict, overruled } = record
  const view = viewOf(record)
  const at = record.firstSeenAt
  const { facts, reference } = compose({ moment: 'scheduled', at, event: view }, at)
  const told = facts
    .filter(({ name }) => name !== 'Decision')
    .map(({ name, value }): Fact => [name, times.includes(name) ? fixed(value) : value])
    // a message names as many as somebody reads, the page all
    .map(([name, value]): Fact => [name, name === 'Affected VMs' ? namesOf(record) : value])
  return [
    ...(verdict ? [['How we know who', proofs[verdict.how]] as Fact] : []),
    ...(overruled ? [['Before', inWords(overruled)] as Fact] : []),
    ...told,
    ['Reference', reference],
  ]
}

const times = ['When', 'Started', 'Running at', 'Ended', 'Gone since', 'Closed']

/** A page may stand open: "in 14 min" would soon be wrong. */
function fixed(value: string): string {
  return minuteUtc(value.replace(/ \([^()]*\)$/, ''))
}

function namesOf({ facts: { resources } }: EventRecord): string {
  return plain(resources.join(', ')) || 'not named'
}

/** What was decided first, where a later approval replaced it. */
function inWords(verdict: NonNullable<EventRecord['verdict']>): string {
  const { at, lapsedAt } = verdict
  const lapsed = lapsedAt === undefined ? '' : `; it lapsed ${utc(lapsedAt)}`
  return capital(plain(`${describeVerdict(verdict)}, ${utc(at)}${lapsed}`))
}

/** How we know who decided. */
const proofs = {
  link: 'by the link alone, which proves no more than that somebody held it',
  slack: 'Slack signed who pressed the button',
  entra: 'they had signed in with Microsoft Entra',
  admin: 'they had the admin key',
  policy: 'the owner wrote the rule',
} as const
