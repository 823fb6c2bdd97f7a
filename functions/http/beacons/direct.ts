// The whole answer to a report, for a host that takes reports past the routes: with the same checks,
// counts and headers. The host reads the body, and takes only requests whose length is known.
import { messageOf, problemContentType } from '../../../shared/errors.ts'
import { fleetHeader } from '../../../shared/report.ts'
import { isSecure, privateHeaders, secureHeaders } from '../../pages/layout.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { problemText, relayFailed } from '../problem.ts'
import type { ReportCounts } from '../report-counts.ts'
import type { TakeReport } from './reports.ts'
import type { Incoming } from './request.ts'

interface Answered {
  status: number
  headers: Record<string, string>
  body: string
}

/** Never rejects. */
export type AnswerReport = (incoming: Incoming) => Promise<Answered>

export function createAnswerReport(
  { config, log }: Pick<Relay, 'config' | 'log'>,
  take: TakeReport,
  counts: ReportCounts,
): AnswerReport {
  const usual = { ...privateHeaders, ...(isSecure(config.publicUrl) ? secureHeaders : {}) }
  const accepted = { 'content-type': 'application/json', ...usual }
  const refused = { 'content-type': problemContentType, ...usual }
  return async (incoming) => {
    const taken = await take(incoming).catch((error: unknown) => {
      log.error('request_failed', { method: 'POST', error: messageOf(error) })
      return { refusal: relayFailed }
    })
    const isRefused = 'refusal' in taken
    const status = isRefused ? taken.refusal.status : 200
    counts.note(incoming.header(fleetHeader), status)
    return isRefused
      ? { status, headers: refused, body: problemText(taken.refusal) }
      : { status, headers: accepted, body: JSON.stringify(taken.answer) }
  }
}
