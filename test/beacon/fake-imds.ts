// An IMDS whose answers a test chooses, and a client of it.
import type { Exchange } from '../../beacon/exchange.ts'
import { createImds, type Imds } from '../../beacon/imds.ts'
import { previewVersion } from '../../shared/document.ts'
import type { Log } from '../../shared/log.ts'
import { instanceOf } from './events.ts'
import { createFakeClock, type FakeClock } from './fake-clock.ts'
import { type Asked, createTestLog, serve } from './world.ts'

export type Reply = { status?: number; body?: string; headers?: Record<string, string> } | 'silence'

export const document = JSON.stringify({
  DocumentIncarnation: 4,
  Events: [{ EventId: 'ABC-1', EventType: 'Reboot', EventStatus: 'Scheduled', Resources: ['vm1'] }],
})
export const forever = new AbortController().signal

/** An IMDS that answers as `reply` says, without the preview of the api-version, and a client of it. */
export async function setUp(reply: (asked: Asked, index: number) => Reply, timeouts = {}) {
  let count = 0
  const asked: Asked[] = []
  const server = await serve((request, response) => {
    if (versionOf(request) === previewVersion) {
      response.writeHead(404).end()
      return
    }
    asked.push(request)
    const answer = reply(request, count++)
    if (answer === 'silence') return
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body ?? '')
  })
  const clock = createFakeClock()
  const log = createTestLog()
  const imds = createImds({ origin: server.origin, clock, log, ...timeouts })
  return { imds, log, clock, asked, poll: () => imds.poll(forever) }
}

export async function pollTimes(imds: Imds, times: number) {
  const polls = []
  for (let i = 0; i < times; i++) polls.push(await imds.poll(forever))
  return polls
}

export function versionOf({ url }: Asked): string {
  return new URL(url, 'http://imds').searchParams.get('api-version') ?? ''
}

export interface Request {
  /** When it arrived, monotonic ms. */
  at: number
  method: Exchange['method']
  /** `scheduledevents`, `instance` or `token`. */
  endpoint: string
  version: string
  /** The ids that a POST names. */
  eventIds: string[]
}

/**
 * A client of an IMDS that answers without a network, so that no test depends on speed. Pass
 * `imdsOf` to `startBeacon`. It answers itself which VM it is.
 */
export function withoutNetwork(
  answer: (request: Request) => Exclude<Reply, 'silence'> & { delayMs?: number },
) {
  const requests: Request[] = []
  const imdsOf = (clock: FakeClock, log: Log) =>
    createImds({
      ...{ origin: 'http://imds', clock, log },
      async exchange({ url, method, body = '{}', signal }) {
        const request = {
          ...{ at: clock.monotonic(), method, endpoint: url.pathname.split('/').at(-1) ?? '' },
          version: url.searchParams.get('api-version') ?? '',
          eventIds: idsIn(body),
        }
        requests.push(request)
        const said = answer(request)
        const isInstance = request.endpoint === 'instance' && said.status === undefined
        const {
          status = 200,
          body: text = '',
          headers = {},
          delayMs = 5,
        } = isInstance ? whoAmI : said
        await clock.sleep(delayMs, signal)
        return { kind: 'answered', status, headers, text }
      },
    })
  return { requests, imdsOf }
}

const whoAmI: ReturnType<Parameters<typeof withoutNetwork>[0]> = {
  body: instanceOf('vm1'),
}

function idsIn(body: string): string[] {
  const { StartRequests = [] } = JSON.parse(body) as { StartRequests?: { EventId: string }[] }
  return StartRequests.map(({ EventId }) => EventId)
}
