// The sample app on the real `@azure/functions`, started once for a test file, with the helpers
// that tests need.
import { afterAll } from 'vitest'
import { Waiters } from '../simulator/waiters.ts'
import { FunctionsHost } from '../support/functions-host.ts'

const patienceMs = 10_000
const waiters = new Waiters()

/** Lines that the sample's log did not pass to an invocation's logger. */
export let printed: string[] = []

export const host = await FunctionsHost.start({
  load: async () => {
    printed = (await import('./azure-sample.ts')).printed
  },
  onLine: () => waiters.changed(),
})
afterAll(() => host.stop())

export const get = (path: string, headers: Record<string, string> = {}) =>
  host.invokeHttp(path, { headers })

/** Lets the sample continue at a gate. */
export const open = (gate: string) => host.invokeHttp(`/open/${gate}`, { method: 'POST' })

export const lineOf = (event: string) =>
  host.lines.find((line) => line.message.includes(`"${event}"`))

/** The first line with the event, past or future. */
export const waitFor = (event: string) => waitUntil(() => lineOf(event), `log ${event}`)

export const waitUntil = <T>(find: () => T | undefined, what: string) =>
  waiters.until(find, patienceMs, () => `the app did not ${what}`)
