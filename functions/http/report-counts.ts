// Counts the reports that this process accepted and refused. A stranger may claim any
// fleet, so a refused report counts for a fleet only if the configuration has it.
import type { MiddlewareHandler } from 'hono'
import { fleetHeader } from '../../shared/report.ts'
import type { ReportOutcome, ReportsCounted } from '../core/counts.ts'
import { other } from '../core/counts.ts'
import type { Relay } from '../use-cases/relay.ts'

export interface ReportCounts {
  /** Middleware: counts the answer to a report. */
  count: MiddlewareHandler
  note(fleet: string | undefined, status: number): void
  read(): ReportsCounted
}

export function createReportCounts({ config }: Pick<Relay, 'config'>): ReportCounts {
  const fleets = [...Object.keys(config.fleets), other]
  const outcomes: ReportOutcome[] = ['accepted', 'refused']
  // counters exist from the start, with 0: otherwise their rate would miss the first report
  const counts = new Map(
    fleets.flatMap((fleet) =>
      outcomes.map((outcome) => [`${outcome} ${fleet}`, { fleet, outcome, count: 0 }]),
    ),
  )
  const note = (named = other, status: number) => {
    const fleet = Object.hasOwn(config.fleets, named) ? named : other
    const outcome = status === 200 ? 'accepted' : 'refused'
    counts.get(`${outcome} ${fleet}`)!.count += 1
  }
  return {
    note,
    async count(c, next) {
      await next()
      note(c.req.header(fleetHeader), c.res.status)
    },
    read: () => [...counts.values()],
  }
}
