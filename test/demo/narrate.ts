// What a station did, in a line; undefined for what a spectator need not see.
import type { Received } from '../simulator/sinks.ts'
import type { Entry } from '../support/process.ts'

export function describeEntry(program: string, entry: Entry): string | undefined {
  return program === 'relay' ? describeRelay(entry) : describeBeacon(entry)
}

function describeBeacon(entry: Entry): string | undefined {
  switch (entry.event) {
    case 'beacon_started':
      return 'beacon runs, polling its own IMDS once a second'
    case 'event_seen':
      return `sees a ${entry.eventType} of ${list(entry.resources)}: ${entry.status}`
    case 'event_changed':
      return `sees it is now ${entry.status}`
    case 'event_gone':
      return 'sees it is gone from its document'
    case 'directive_received':
      return 'is told by the relay to start the event'
    case 'start_requested':
      return `posts StartRequests to its IMDS: ${entry.outcome} (HTTP ${entry.status})`
    default:
      return isTrouble(entry) ? JSON.stringify(entry) : undefined
  }
}

function describeRelay(entry: Entry): string | undefined {
  switch (entry.event) {
    case 'relay_started':
      return `listens on port ${entry.port}, with its SQLite in a folder of its own`
    case 'event_stepped':
      return `hears of it first from ${entry.vm}, and tells each channel once: ${list(entry.moments)}`
    case 'event_decided':
      return `has the decision on record: ${entry.decision}, by ${entry.how}`
    case 'event_concluded':
      return `concludes: ${list(entry.moments)}`
    default:
      return isTrouble(entry) ? JSON.stringify(entry) : undefined
  }
}

export function describeReceived({ kind, json, accepted, valid }: Received): string {
  const trouble = accepted ? '' : ` (not accepted: ${valid})`
  const body = json as {
    text?: string
    type?: string
    event_action?: string
    attachments?: { content: { body: { text: string }[] } }[]
    payload?: { summary: string }
  }
  switch (kind) {
    case 'slack':
    case 'slack_bot':
      return `${body.text?.split('\n', 1)[0]}${trouble}`
    case 'teams':
      return `${body.attachments?.[0]?.content.body[0]?.text.replaceAll('\\', '')}${trouble}`
    case 'pagerduty':
      return `${body.event_action}${body.payload ? `: ${body.payload.summary}` : ''}${trouble}`
    case 'webhook':
      return `${body.type}, ${valid === true ? 'signature verified' : valid}`
  }
}

function isTrouble({ level }: Entry): boolean {
  return level === 'warn' || level === 'error'
}

function list(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value)
}
