// A server of a test, and what a relay sends to it with.
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { onTestFinished } from 'vitest'
import { createOutbound } from '../../functions/notify/undici.ts'

/** Both end with the test. */
export async function outboundTo(server: Server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const outbound = createOutbound(['127.0.0.0/8'])
  onTestFinished(async () => {
    await outbound.close()
    server.close()
  })
  return { outbound, port: (server.address() as AddressInfo).port }
}
