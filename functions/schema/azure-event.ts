// Reads one event as Event Grid sends it, and as Resource Graph lists it. Both name the resource that the
// event belongs to by its path in Azure, and have the event's values as IMDS has them.
import * as z from 'zod'
import { readEvent } from '../../shared/document.ts'
import { type AzureResource, resourceTypes } from '../core/event/outside.ts'
import type { Published } from '../core/event/published.ts'
import { tidyEvent } from '../core/event/tidy.ts'

/** `id`: `/subscriptions/…/providers/Microsoft.Maintenance/scheduledevents/{event}`. */
const pathPattern =
  /^\/subscriptions\/([^/]+)\/resourcegroups\/([^/]+)\/providers\/microsoft\.compute\/([^/]+)\/([^/]+)\/providers\/microsoft\.maintenance\/scheduledevents\/[^/]+$/i

/** Azure allows names of 80 and 90 characters, so its longest path has about 400. The parts of a path are kept with the event. */
const maxPathLength = 1_024

const statusSchema = z.object({ EventStatus: z.string() })

const endings = new Map<string, Published['ending']>([
  ['completed', 'completed'],
  ['canceled', 'cancelled'],
  ['cancelled', 'cancelled'],
])

const noticeSchema = z.object({
  /** A CloudEvent has `time`, the schema of Event Grid has `eventTime`. */
  time: z.string().optional(),
  eventTime: z.string().optional(),
  data: z.object({
    resourceInfo: z.object({
      id: z.string(),
      type: z.string().optional(),
      properties: z.unknown(),
    }),
    operationalInfo: z.object({ resourceEventTime: z.string().optional() }).optional(),
  }),
})

const scheduledEvents = 'microsoft.maintenance/scheduledevents'

/** `at`: absent if it does not say when. */
type Notice = Omit<Published, 'at'> & { at?: number | undefined }

/**
 * One entry that Event Grid sent. `other`: it is about something else. Undefined if it cannot be read.
 */
export function readNotice(entry: unknown): Notice | 'other' | undefined {
  const read = noticeSchema.safeParse(entry)
  if (!read.success) return undefined
  const { time, eventTime, data } = read.data
  const { id, type = scheduledEvents, properties } = data.resourceInfo
  if (type.toLowerCase() !== scheduledEvents) return 'other'
  const said = [data.operationalInfo?.resourceEventTime, time, eventTime]
  const at = said.map((text) => Date.parse(text ?? '')).find(Number.isFinite)
  const published = toPublished('Azure Event Grid', { id, properties }, 0)
  return published && { ...published, at }
}

/** `at`: as of when it is so. */
export function toPublished(
  by: Published['by'],
  { id, properties }: { id: string; properties: unknown },
  at: number,
): Published | undefined {
  const [resource, event] = [resourceIn(id), readEvent(properties)]
  if (resource === undefined || event === undefined) return undefined
  const status = statusSchema.safeParse(properties).data?.EventStatus.toLowerCase() ?? ''
  const ending = endings.get(status)
  return { by, resource, event: tidyEvent(event), ...(ending && { ending }), at }
}

function resourceIn(id: string): AzureResource | undefined {
  if (id.length > maxPathLength) return undefined
  const [, subscription = '', resourceGroup = '', kind = '', name = ''] = pathPattern.exec(id) ?? []
  const type = resourceTypes.find((one) => one.toLowerCase() === kind.toLowerCase())
  const isSegment = (text: string) => text !== '.' && text !== '..'
  if (type === undefined || ![resourceGroup, name].every(isSegment)) return undefined
  return { subscriptionId: subscription.toLowerCase(), resourceGroup, type, name }
}
