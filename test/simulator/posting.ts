// For tests of the sinks: posts as a notifier does, and what came in last.

import { afterEach, beforeEach } from 'vitest'
import { type Received, type Sinks, startSinks } from './sinks.ts'

/** Those of the test that runs. */
export let sinks: Sinks

/** Each test of this file has sinks of its own. */
export function useSinks(): void {
  beforeEach(async () => {
    sinks = await startSinks()
  })
  afterEach(() => sinks.stop())
}

export async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

export function last(): Received {
  return sinks.received.at(-1)!
}
