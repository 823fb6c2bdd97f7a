// Describes what each part of the demo did, in one line. Undefined: not worth showing.
import type { Received } from '../simulator/sinks.ts'
import type { Entry } from '../support/process.ts'
import type { HostName } from '../support/relay-hosts.ts'

/** What the relay keeps its events in. */
const stores: Record<HostName, string> = {
  node: 'SQLite in its own folder',
  azure: 'Azurite in place of Azure Storage',
  cloudflare: 'a Durable Object of workerd',
}

/** `host`: where the relay runs. */
export function describeEntry(program: string, entry: Entry, host: HostName): string | undefined {
  return program === 'relay' ? describeRelay(entry, host) : describeBeacon(entry)
}

/** The heading before an entry that begins a part of the story. */
export function chapterOf(program: string, { event, moments }: Entry): string | undefined {
  const has = (moment: string) => Array.isArray(moments) && moments.includes(moment)
  if (program !== 'relay') return undefined
  if (event === 'event_decided') return '2. It is decided'
  if (event === 'event_stepped' && has('started')) return '3. Azure starts it'
  const isOver = event === 'event_concluded' || has('completed')
  return isOver ? '4. It is over' : undefined
}

function describeBeacon(entry: Entry): string | undefined {
  switch (entry.event) {
    case 'beacon_started':
      return 'beacon starts, and polls its own IMDS once a second'
    case 'event_seen':
      return `sees a ${entry.eventType} of ${list(entry.resources)}: ${entry.status}`
    case 'event_changed':
      return `sees that it is now ${entry.status}`
    case 'event_gone':
      return 'sees that its document no longer shows it'
    case 'directive_received':
      return 'gets the directive to start the event'
    case 'hook_started':
      return entry.hook === 'prepare' ? 'drain: cordons the node, and evicts its pods' : undefined
    case 'hook_succeeded':
      return entry.hook === 'prepare' ? `drain: ${entry.note}` : `restore: ${entry.note}`
    case 'start_requested':
      return `posts StartRequests to its IMDS: ${entry.outcome} (HTTP ${entry.status})`
    default:
      return troubleIn(entry)
  }
}

function describeRelay(entry: Entry, host: HostName): string | undefined {
  switch (entry.event) {
    // as in every new folder
    case 'database_created':
      return undefined
    case 'relay_started':
      return `is ready, and stores events in ${stores[host]}`
    case 'event_stepped':
      return `hears of it from ${entry.vm}, and notifies each channel once: ${list(entry.moments)}`
    case 'event_decided':
      return `stores the decision: ${entry.decision}, by ${entry.how}`
    case 'azure_acknowledged':
      return 'tells Azure, through Resource Manager, that the event may start'
    case 'event_concluded':
      return `concludes: ${list(entry.moments)}`
    default:
      return troubleIn(entry)
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
    default:
      return `a request${trouble}`
  }
}

/** `warning: hook runner lost (ECONNREFUSED)` */
function troubleIn({ level, event, reason, error, detail }: Entry): string | undefined {
  if (level !== 'warn' && level !== 'error') return undefined
  const why = [reason, error, detail].find((one) => typeof one === 'string')
  return `${level === 'warn' ? 'warning' : 'error'}: ${event.replaceAll('_', ' ')}${why === undefined ? '' : ` (${why})`}`
}

function list(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value)
}
