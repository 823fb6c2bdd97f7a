// The answer of a host that keeps running although its settings are wrong.
import { problemContentType } from '../../shared/errors.ts'
import { problemText } from '../http/problem.ts'
import { privateHeaders } from '../pages/layout.ts'

export function misconfigured(): Response {
  const detail = 'the relay cannot start with its settings; see its log for the mistakes'
  const body = problemText({ status: 503, code: 'misconfigured', detail })
  const headers = { ...privateHeaders, 'content-type': problemContentType }
  return new Response(body, { status: 503, headers })
}
