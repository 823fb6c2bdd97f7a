// Takes plain reports from Node's server itself: `Request` and `Response` objects, and the routes that a
// report passes, cost as much as judging it. All other requests go to the routes.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { maxReportBytes, reportPath } from '../../../shared/report.ts'
import type { AnswerReport } from '../../http/beacons/direct.ts'

interface Direct {
  answerReport: AnswerReport
  noteBrokenOff(method: string, cause: unknown): void
  /** As of the file. */
  durable(): Promise<void> | undefined
  log: Log
}

/** `others` takes the requests that are no plain reports. */
export function reportsFirst(direct: Direct, others: RequestListener): RequestListener {
  return (request, response) => {
    if (!isPlainReport(request)) return others(request, response)
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => void answer(direct, request, textOf(parts), response))
    request.on('error', (cause) => direct.noteBrokenOff('POST', cause))
  }
}

function isPlainReport({ method, url, headers }: IncomingMessage): boolean {
  if (method !== 'POST' || url !== reportPath) return false
  const length = headers['content-length']
  const hasLength = length !== undefined && headers['transfer-encoding'] === undefined
  return hasLength && Number(length) <= maxReportBytes
}

function textOf(parts: Buffer[]): string {
  const [first, ...rest] = parts
  return rest.length === 0 ? String(first ?? '') : Buffer.concat(parts).toString()
}

async function answer(
  { answerReport, durable, log }: Direct,
  { headers: sent }: IncomingMessage,
  text: string,
  response: ServerResponse,
): Promise<void> {
  const header = (name: string) => sent[name]?.toString()
  const { status, headers, body } = await answerReport({ header, text })
  try {
    await durable()
    const length = Buffer.byteLength(body)
    response.writeHead(status, { ...headers, 'content-length': length }).end(body)
  } catch (error) {
    log.error('request_failed', { method: 'POST', error: messageOf(error) })
    response.writeHead(500, { 'content-length': 0 }).end()
  }
}
