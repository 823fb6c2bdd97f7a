// One request of a command to the relay, with the key. It follows no redirect: only the relay may get
// the key.
import { parseJson } from '../../shared/json.ts'

interface Asked {
  credential: string
  /** Sent as JSON. Without it, the request is a GET. */
  body?: object
  accept?: string
  signal: AbortSignal
}

export function askRelay(
  url: string,
  path: string,
  { credential, body, accept, signal }: Asked,
): Promise<Response> {
  const headers = {
    authorization: `Bearer ${credential}`,
    ...(accept && { accept }),
    ...(body && { 'content-type': 'application/json' }),
  }
  const sent = body && { method: 'POST', body: JSON.stringify(body) }
  return fetch(`${url}${path}`, { ...sent, headers, redirect: 'manual', signal })
}

/** The error for an answer that a command cannot use: what the relay says, or its status. */
export async function refusalOf(url: string, answer: Response): Promise<Error> {
  const body = parseJson(await answer.text()) as { detail?: unknown } | undefined
  const detail = typeof body?.detail === 'string' ? body.detail : `it answered ${answer.status}`
  return new Error(`The relay at ${url} refused: ${detail}`)
}
