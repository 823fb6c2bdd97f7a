// A running beacon with a clock, an IMDS and a relay that the test controls. The spool is real.
import { onTestFinished } from 'vitest'
import { runAgent } from '../../beacon/agent.ts'
import type { Failed, FailureClass, Imds, Started } from '../../beacon/imds.ts'
import type { Sent } from '../../beacon/relay-client.ts'
import { openSpool } from '../../beacon/spool.ts'
import type { Parts } from '../../beacon/state.ts'
import type { ApiVersion, ScheduledEvent, Unreadable } from '../../shared/document.ts'
import type { Log } from '../../shared/log.ts'
import {
  type Answer,
  type Directive,
  type Report,
  reportSchema,
  type Vm,
  vmSchema,
} from '../../shared/report.ts'
import { anEvent } from './events.ts'
import { createFakeClock, type FakeClock } from './fake-clock.ts'
import { createTestLog, temporaryDirectory } from './world.ts'

type Reply = Sent | 'hang'

interface Played {
  /** What IMDS shows now, or how it fails. */
  events: ScheduledEvent[] | Failed | 'hang'
  /** The api-version that it sends. */
  apiVersion: ApiVersion
  unreadable: Unreadable
  oddities: string[]
  identity: Vm | Failed
  /** The answer of IMDS to an approval. */
  approval: Started | 'hang' | ((eventIds: readonly string[]) => Started)
  /** The answer of the relay to a report. */
  reply: (report: Report) => Reply
}

export function failing(kind: FailureClass = 'transient', reason = 'IMDS answered 503'): Failed {
  return { kind: 'failed', class: kind, reason, status: 503 }
}

export function accepted(fields: Partial<Answer> = {}): Sent {
  const answer = {
    outcome: 'accepted' as const,
    time: 0,
    paceMs: 600_000,
    directives: [],
    preparations: [],
    refused: [],
  }
  return { kind: 'accepted', answer: { ...answer, ...fields } }
}

export function directing(...eventIds: string[]): Sent {
  return accepted({ directives: eventIds.map((eventId) => aDirective({ eventId })) })
}

/** The directive that approves the event of `anEvent`. */
export function aDirective(fields: Partial<Directive> = {}): Directive {
  const { eventId, eventType, resources } = anEvent()
  return { eventId, eventType, resources: resources.map((name) => name.toLowerCase()), ...fields }
}

/** The beacon of `vm1`, started; time stands still until `clock.advance`. */
export function startBeacon(
  played: Partial<Played> = {},
  parts: Partial<Parts> = {},
  imdsOf?: (clock: FakeClock, log: Log) => Imds,
) {
  const clock = createFakeClock()
  const log = createTestLog()
  const spool = openSpool({ directory: temporaryDirectory(), clock, log })
  const world: Played = {
    events: [],
    apiVersion: '2020-07-01',
    unreadable: { count: 0, samples: [] },
    oddities: [],
    identity: vmSchema.parse({ name: 'vm1', resourceGroup: 'rg1', tags: { Env: 'dev' } }),
    approval: { outcome: 'accepted', status: 200 },
    reply: () => accepted(),
    ...played,
  }
  const polledAt: number[] = []
  const identifiedAt: number[] = []
  /** The events of each start request. */
  const posts: string[][] = []
  const approvals: { at: number; eventId: string }[] = []
  const reports: { at: number; report: Report }[] = []

  const stopping = new AbortController()
  let id = 0
  const running = runAgent(
    {
      imds: imdsOf?.(clock, log) ?? {
        async poll(signal) {
          polledAt.push(clock.monotonic())
          const { events, apiVersion, unreadable, oddities } = world
          if (events === 'hang') return untilAborted(signal, failing())
          if (!Array.isArray(events)) return events
          const shown = { events: structuredClone(events), unreadable, oddities }
          return { kind: 'document', apiVersion, document: { incarnation: 1, ...shown } }
        },
        async identify() {
          identifiedAt.push(clock.monotonic())
          const { identity } = world
          return 'kind' in identity ? identity : { kind: 'vm', vm: identity }
        },
        async start(choose, signal) {
          const eventIds = choose()
          if (eventIds.length === 0) return undefined
          posts.push([...eventIds])
          for (const eventId of eventIds) approvals.push({ at: clock.monotonic(), eventId })
          const { approval } = world
          const unreachable = { outcome: 'unreachable' as const, reason: 'hung' }
          if (approval === 'hang') return untilAborted(signal, unreachable)
          return typeof approval === 'function' ? approval(eventIds) : approval
        },
      },
      relay: {
        async send(build, signal) {
          const report = reportSchema.parse(JSON.parse(build()))
          reports.push({ at: clock.monotonic(), report })
          const reply = world.reply(report)
          return reply === 'hang' ? untilAborted(signal, { kind: 'failed', reason: 'hung' }) : reply
        },
      },
      ...{ spool, clock, log },
      random: () => 0.5,
      newId: () => `boot-${String(++id).padStart(4, '0')}`,
      uptimeMs: () => 60_000 + clock.monotonic(),
      pollMs: 1_000,
      version: '0.1.0',
      about: { fleet: 'shop' },
      whyStopping: async () => 'stopped',
      takeOver: () => {},
      ...parts,
    },
    stopping.signal,
  )
  const stop = async () => {
    stopping.abort()
    // the last report has a limit
    await clock.advance(2_000)
    await running
  }
  onTestFinished(async () => {
    await stop().catch(() => {})
    spool.close()
  })
  const reportedAt = () => reports.map(({ at }) => at)
  const lastReport = () => reports.at(-1)?.report
  return {
    ...{ world, clock, log, spool, polledAt, identifiedAt, posts, approvals, reports },
    ...{ reportedAt, lastReport, running, stop },
  }
}

function untilAborted<T>(signal: AbortSignal, value: T): Promise<T> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(value)))
}
