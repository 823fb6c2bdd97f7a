// The words that a template of kind `http` may contain: each stands for a part of the message.
// docs/http-channels.md shows this table.
import { iso } from '../../../shared/json.ts'
import { noFleet } from '../../core/delivery/delivery.ts'
import { type PublicEvent, publicView } from '../../core/event/public-view.ts'
import { listText } from '../../core/message/list.ts'
import { composeButton, composeList, composeListButton } from '../../core/message/message.ts'
import { plain } from '../../core/message/phrases.ts'
import { dayMs } from '../../core/units.ts'
import { buildStoryKey, fitting, severityIn } from '../incidents.ts'
import type { Outgoing, Part } from '../notifier.ts'
import { showIn } from '../time-zone.ts'
import { bytesIn } from './bytes.ts'

/** Services that need an end get this one: it is later than that of any event without news. */
const expiresMs = dayMs

/** How the channel shows the readers' own time. `time`: a text with `unixIn`. */
export interface Clock {
  time?: string | undefined
  timeZone?: string | undefined
}

interface Placeholder {
  about: string
  /** Made of names from outside: cut to the limit of its field, without links or the marks in `replace`. */
  isText?: true
  /** Empty: the field is left out. `key`: of the incident, or of the event. `room`: in bytes. */
  of(outgoing: Outgoing, key: string | undefined, room: number, clock: Clock): string
}

/** What `time` of a channel has in place of the seconds since 1970. */
export const unixIn = '{{unix}}'

export const placeholders: Record<string, Placeholder> = {
  title: {
    about: 'The message in one line. Of an incident: with absolute times, as services keep it.',
    isText: true,
    of: (outgoing, key) => (key === undefined ? readHead(outgoing) : outgoing.message.lastingTitle),
  },
  lines: {
    about:
      'What happens, what to do, and what happens if nobody acts. Of several events: the title of each, and their sentences while there is room.',
    isText: true,
    of: (outgoing, _, room) => {
      const messages = partsIn(outgoing).map(({ message }) => message)
      if (messages.length === 1) return messages[0]!.lines.join('\n')
      return listText(messages, (text) => bytesIn(text) <= room)
    },
  },
  facts: {
    about: 'When, how long, which VMs, why, who: a line each. Empty for several events.',
    isText: true,
    of: ({ message, also }) =>
      also.length > 0 ? '' : message.facts.map(({ name, value }) => `${name}: ${value}`).join('\n'),
  },
  local: {
    about:
      "When it starts, or when it started or ended, by the readers' own clock. Empty for several events, and without `time` or `timeZone`.",
    of: ({ message: { facts }, also }, _key, _room, { time, timeZone }) => {
      const at = facts.find((fact) => fact.at !== undefined)?.at
      if (at === undefined || also.length > 0) return ''
      const seconds = String(Math.floor(at / 1_000))
      if (time !== undefined) return `For you: ${time.replaceAll(unixIn, seconds)}`
      return timeZone === undefined ? '' : `For you: ${showIn(timeZone, at)}`
    },
  },
  vms: {
    about: 'The names of all affected VMs.',
    isText: true,
    of: (outgoing) => {
      const names = partsIn(outgoing).flatMap(({ delivery }) => {
        return delivery.notification.event.facts.resources
      })
      return plain([...new Set(names)].join(', '))
    },
  },
  vm: {
    about: 'The name of the affected VM, for a field of one name. Of several: of the first.',
    isText: true,
    of: ({ delivery }) => plain(delivery.notification.event.facts.resources[0] ?? ''),
  },
  page: {
    about: 'The address of the page that decides; of an alert, the console.',
    of: ({ listUrl, pageUrl, publicUrl }) => listUrl ?? pageUrl ?? publicUrl,
  },
  links: {
    about: 'Further addresses, such as that of the runbook: a line each. Of one event only.',
    of: ({ message: { links = [] }, also }) =>
      also.length > 0 ? '' : links.map(({ label, url }) => `${label}: ${url}`).join('\n'),
  },
  button: {
    about: 'The label of a button to that page, such as *Decide*.',
    of: (outgoing) =>
      outgoing.listUrl === undefined
        ? composeButton(outgoing.message)
        : composeListButton(partsIn(outgoing).map(({ message }) => message)),
  },
  severity: {
    about:
      '`critical`, `error`, `warning` or `info`, in the words of `severities`. If these are numbers and the field has nothing else, a number.',
    of: ({ delivery }) => severityIn(delivery.notification),
  },
  key: {
    about: 'The key of the incident. Without `resolve`: the same for all messages about an event.',
    // part of a path at some services, whose gateways may refuse a slash
    of: ({ delivery }, key) =>
      fitting(key ?? buildStoryKey(delivery.notification)).replaceAll('/', ':'),
  },
  moment: {
    about: 'Such as `scheduled`, or `alert`.',
    of: ({ delivery }) => delivery.notification.moment,
  },
  fleet: {
    about: 'The fleet. Empty for an alert about the relay.',
    of: ({ delivery }) => {
      const { fleet } = delivery.notification.event
      return fleet === noFleet ? '' : fleet
    },
  },
  deadline: {
    about: 'NotBefore in ISO 8601. Empty if Azure gave none.',
    of: ({ delivery }) => iso(delivery.notification.event.facts.notBeforeAt) ?? '',
  },
  time: {
    about: 'When the moment was, in ISO 8601.',
    of: ({ delivery }) => iso(delivery.notification.at),
  },
  expires: {
    about: 'A day after the deadline, or after `time`, for services that need an end.',
    of: ({ delivery: { notification } }) => {
      const { notBeforeAt = 0 } = notification.event.facts
      return iso(Math.max(notBeforeAt, notification.at) + expiresMs)
    },
  },
}

/** Fields of the event that a webhook may name: `{{event.eventType}}`. */
export const eventFields = [
  ...['eventId', 'eventType', 'source', 'description', 'resources', 'phase', 'outcome'],
  ...['notBefore', 'durationSeconds', 'firstSeenAt', 'startedAt', 'endedAt', 'epoch', 'sequence'],
] as (keyof PublicEvent)[]

function partsIn({ also, ...first }: Outgoing): Part[] {
  return [first, ...also]
}

function readHead(outgoing: Outgoing): string {
  const messages = partsIn(outgoing).map(({ message }) => message)
  const { sign, title } = messages.length === 1 ? messages[0]! : composeList(messages)
  return `${sign} ${title}`
}

export function eventField({ delivery }: Outgoing, name: string): string {
  const value = publicView(delivery.notification.event)[name as keyof PublicEvent]
  return value === undefined ? '' : plain([value].flat().join(', '))
}
