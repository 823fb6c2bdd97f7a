// For tests of the sinks: posts as a notifier does, and what came in last.

import type { Received, Sinks } from './sinks.ts'

export async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

export function last(sinks: Sinks): Received {
  return sinks.received.at(-1)!
}
