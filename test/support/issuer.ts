// Entra for tests, in this process or over HTTP: the simulator's issuer, with claims of any VM.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ClaimSet, Issuer, TENANT_ID } from '../simulator/issuer.ts'

export const tenantId = TENANT_ID
export const audience = 'api://foghorn'
export const subscriptionId = '22222222-bbbb-4bbb-8bbb-222222222222'

/** Claims for a VM of `rg`, good around `now`. */
export function claimsFor(name: string, now: number, changes: ClaimSet = {}): ClaimSet {
  const provider = `/subscriptions/${subscriptionId}/resourceGroups/rg/providers/Microsoft.Compute`
  const seconds = Math.floor(now / 1000)
  return {
    aud: audience,
    iss: `https://sts.windows.net/${tenantId}/`,
    tid: tenantId,
    nbf: seconds,
    exp: seconds + 86_400,
    xms_az_rid: `${provider}/virtualMachines/${name}`,
    ...changes,
  }
}

/** An issuer behind HTTP, which can be away, and counts who asks for its keys. */
export async function serveIssuer() {
  const issuer = new Issuer()
  const state = {
    asked: [] as string[],
    answer: undefined as { status: number; body: string } | undefined,
  }
  const server = createServer(({ url = '' }, response) => {
    state.asked.push(url)
    const { status, body } = state.answer ?? { status: 200, body: JSON.stringify(issuer.jwks()) }
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    issuer,
    state,
    authority: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
