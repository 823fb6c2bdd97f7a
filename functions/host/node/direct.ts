// Takes reports from Node's server itself: `Request` and `Response` objects, and the routes that a report
// passes, cost as much as judging it. All other requests go to the routes.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { maxReportBytes, reportPath } from '../../../shared/report.ts'
import type { Answered, DirectReports } from '../../http/beacons/direct.ts'
import { bodiesFirst } from './bodies.ts'

interface Direct extends DirectReports {
  noteBrokenOff(method: string, cause: unknown): void
}

/** `others` takes the requests that are no reports. Their `rawBody` is the body. */
export function reportsFirst(direct: Direct, others: RequestListener): RequestListener {
  return bodiesFirst({
    take(request, response, body) {
      const isReport = request.method === 'POST' && request.url === reportPath
      if (isReport && body !== undefined && body.length <= maxReportBytes) {
        void answer(direct, request, String(body), response)
      } else {
        others(body === undefined ? request : Object.assign(request, { rawBody: body }), response)
      }
    },
    refuse: (response, refusal) => {
      response.setHeader('connection', 'close')
      write(response, direct.refused(refusal))
    },
    noteBrokenOff: direct.noteBrokenOff,
  })
}

async function answer(
  { answerReport }: Direct,
  { headers: sent }: IncomingMessage,
  text: string,
  response: ServerResponse,
): Promise<void> {
  const header = (name: string) => sent[name]?.toString()
  write(response, await answerReport({ header, text }))
}

function write(response: ServerResponse, { status, headers, body }: Answered): void {
  const length = Buffer.byteLength(body)
  response.writeHead(status, { ...headers, 'content-length': length }).end(body)
}
