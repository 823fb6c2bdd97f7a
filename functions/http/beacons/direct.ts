// The whole answer to a report, for a host that takes reports past the routes: with the same checks,
// counts and headers. The host reads the body, and gives longer ones to the routes.
import { messageOf } from '../../../shared/errors.ts'
import { fleetHeader } from '../../../shared/report.ts'
import { isSecure } from '../../pages/layout.ts'
import type { Relay } from '../../use-cases/relay.ts'
import {
  isBearer,
  problemHeaders,
  problemText,
  type Refusal,
  refusalFor,
  usualHeaders,
} from '../problem.ts'
import type { ReportCounts } from '../report-counts.ts'
import type { TakeReport } from './reports.ts'
import type { Incoming } from './request.ts'

export interface Answered {
  status: number
  headers: Record<string, string>
  body: string
}

export interface DirectReports {
  /** Never rejects. */
  answerReport(incoming: Incoming): Promise<Answered>
  /** An answer of the host's own, with the headers of every answer. */
  refused(refusal: Refusal): Answered
}

export function createDirectReports(
  relay: Pick<Relay, 'config' | 'log'>,
  take: TakeReport,
  counts: ReportCounts,
): DirectReports {
  const secure = isSecure(relay.config.publicUrl)
  const accepted = { 'content-type': 'application/json', ...usualHeaders(200, secure) }
  const refused = (refusal: Refusal, hadToken = false): Answered => {
    const { status } = refusal
    const headers = problemHeaders(status, secure, hadToken)
    return { status, headers, body: problemText(refusal) }
  }
  const toAnswer = async (incoming: Incoming) => {
    const outcome = await take(incoming)
    return 'refusal' in outcome
      ? refused(outcome.refusal, isBearer(incoming.header('authorization')))
      : { status: 200, headers: accepted, body: JSON.stringify(outcome.answer) }
  }
  const answerReport = async (incoming: Incoming) => {
    const answered = await toAnswer(incoming).catch((error: unknown) => {
      relay.log.error('request_failed', { method: 'POST', error: messageOf(error) })
      return refused(refusalFor(error))
    })
    counts.note(incoming.header(fleetHeader), answered.status)
    return answered
  }
  return { answerReport, refused }
}
