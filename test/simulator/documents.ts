// The document a VM is shown, in the shape of each api-version. Pure. An event of a type that a version
// does not know is left out, so an old client simply never hears of it.

export const API_VERSIONS = [
  '2017-03-01',
  '2017-08-01',
  '2017-11-01',
  '2019-01-01',
  '2019-04-01',
  '2019-08-01',
  '2020-07-01',
  '2024-07-09',
] as const

export type ApiVersion = (typeof API_VERSIONS)[number]

export const NEWEST: ApiVersion = '2020-07-01'
/** Not rolled out in most regions. */
export const PREVIEW: ApiVersion = '2024-07-09'
export const GENERAL_VERSIONS = API_VERSIONS.filter((version) => version !== PREVIEW)

export const ADVICE = 'SpotRebalanceRecommendation'

const TYPE_SINCE: Record<string, ApiVersion> = {
  Preempt: '2017-11-01',
  Terminate: '2019-01-01',
  [ADVICE]: PREVIEW,
}

export interface VisibleEvent {
  readonly id: string
  readonly type: string
  readonly resources: readonly string[]
  readonly source: string
  readonly description: string
  readonly durationSeconds: number
  readonly notBeforeAt: number
  readonly startedAt: number | null
}

interface ScheduledEvent {
  EventId: string
  EventStatus: 'Scheduled' | 'Started'
  EventType: string
  ResourceType: 'VirtualMachine'
  Resources: string[]
  NotBefore: string
  Description?: string
  EventSource?: string
  DurationInSeconds?: number
}

export interface EventsDocument {
  /** An integer; the preview (2017-03-01) shows it as a string. */
  DocumentIncarnation: number | string
  Events: ScheduledEvent[]
}

export function isApiVersion(text: string): text is ApiVersion {
  return (API_VERSIONS as readonly string[]).includes(text)
}

export function documentFor(
  version: ApiVersion,
  incarnation: number,
  events: readonly VisibleEvent[],
): EventsDocument {
  return {
    DocumentIncarnation: version === '2017-03-01' ? String(incarnation) : incarnation,
    Events: events
      .filter((event) => version >= (TYPE_SINCE[event.type] ?? version))
      .map((event) => showEvent(version, event)),
  }
}

function showEvent(version: ApiVersion, event: VisibleEvent): ScheduledEvent {
  const preview = version === '2017-03-01'
  return {
    EventId: event.id,
    EventStatus: event.startedAt === null ? 'Scheduled' : 'Started',
    EventType: event.type,
    ResourceType: 'VirtualMachine',
    Resources: event.resources.map((name) => (preview ? `_${name}` : name)),
    NotBefore: event.startedAt === null ? showTime(preview, event.notBeforeAt) : '',
    ...(version >= '2019-04-01' && { Description: event.description }),
    ...(version >= '2019-08-01' && { EventSource: event.source }),
    ...(version >= '2020-07-01' && { DurationInSeconds: event.durationSeconds }),
  }
}

/** Both forms cut to the second, so an event never starts before the time that is shown. */
function showTime(iso: boolean, at: number): string {
  const date = new Date(at)
  return iso ? `${date.toISOString().slice(0, 19)}Z` : date.toUTCString()
}
