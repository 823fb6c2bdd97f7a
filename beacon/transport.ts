// Chooses the transport. On Node, `fetch` takes 25 MB more memory than node:http. In the executable,
// Bun's `fetch` takes less than its node:http, and less processor time.
import type { ProxyEnvironment, Transport } from './exchange.ts'
import { createFetchTransport } from './fetch.ts'
import { createHttpTransport } from './http.ts'

/** Without a proxy, no request uses one, whatever the environment says. It is for https only. */
export function createTransport(proxy: ProxyEnvironment = {}): Transport {
  const isExecutable = process.versions.bun !== undefined
  return isExecutable ? createFetchTransport(proxy) : createHttpTransport(proxy)
}
