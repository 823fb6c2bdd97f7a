// An IMDS that answers as a test says, and a client of it.
import { createImds, type Imds } from '../../beacon/metadata.ts'
import { createFakeClock } from './fake-clock.ts'
import { type Asked, createTestLog, serve } from './world.ts'

export type Reply = { status?: number; body?: string; headers?: Record<string, string> } | 'silence'

export const document = JSON.stringify({
  DocumentIncarnation: 4,
  Events: [{ EventId: 'ABC-1', EventType: 'Reboot', EventStatus: 'Scheduled', Resources: ['vm1'] }],
})
export const forever = new AbortController().signal

/** An IMDS that answers as `reply` says, and a client of it. */
export async function setUp(reply: (asked: Asked, index: number) => Reply, timeouts = {}) {
  let count = 0
  const server = await serve((asked, response) => {
    const answer = reply(asked, count++)
    if (answer === 'silence') return
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body ?? '')
  })
  const clock = createFakeClock()
  const log = createTestLog()
  const imds = createImds({ origin: server.origin, clock, log, ...timeouts })
  return { imds, log, clock, asked: server.asked, poll: () => imds.poll(forever) }
}

export async function pollTimes(imds: Imds, times: number) {
  const polls = []
  for (let i = 0; i < times; i++) polls.push(await imds.poll(forever))
  return polls
}

export function versionOf({ url }: Asked): string {
  return new URL(url, 'http://imds').searchParams.get('api-version') ?? ''
}
