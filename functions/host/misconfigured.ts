// The answer of a host that keeps running although its settings are wrong.
import { problemHeaders, problemText } from '../http/problem.ts'
import { isSecure } from '../pages/layout.ts'

/** The settings that name the public URL may be the wrong ones, so the request's URL has to do. */
export function misconfigured({ url }: Pick<Request, 'url'>): Response {
  const detail = 'the relay cannot start with its settings; see its log for the mistakes'
  const body = problemText({ status: 503, code: 'misconfigured', detail })
  return new Response(body, { status: 503, headers: problemHeaders(503, isSecure(url)) })
}
