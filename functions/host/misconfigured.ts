// The answer of a host that keeps running although its settings are wrong.
import { type Problem, problemContentType } from '../../shared/errors.ts'
import { privateHeaders } from '../pages/layout.ts'

export function misconfigured(): Response {
  const problem: Problem = {
    code: 'misconfigured',
    title: 'misconfigured',
    status: 503,
    detail: 'the relay cannot start with its settings; see its log for the mistakes',
  }
  const headers = { ...privateHeaders, 'content-type': problemContentType }
  return new Response(JSON.stringify(problem), { status: 503, headers })
}
