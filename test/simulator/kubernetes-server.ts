// The fake API server as a server by https. Its certificate is of the test's own authority.
import { createServer } from 'node:https'
import { createAuthority } from '../support/certificate.ts'
import { close, HOST, listen, readBody } from './http.ts'
import { FakeKubernetes } from './kubernetes.ts'

const maxBytes = 1_000_000

export async function startKubernetes() {
  const cluster = new FakeKubernetes(Date.now)
  const authority = createAuthority('kubernetes')
  const { certificate, key } = authority.issue()
  const server = createServer({ cert: certificate, key }, async (request, response) => {
    const { method = 'GET', url = '/', headers } = request
    const answer = cluster.answer({
      ...{ method, path: url, body: (await readBody(request, maxBytes)) ?? '' },
      token: headers.authorization?.replace('Bearer ', ''),
      ...(headers['content-type'] && { type: headers['content-type'] }),
    })
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer.body))
  })
  const port = await listen(server, 0)
  return {
    cluster,
    host: HOST,
    port,
    /** PEM. */
    authority: authority.certificate,
    stop: () => close(server),
  }
}
