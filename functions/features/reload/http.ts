// `POST /v1/reload`: reads the configuration again, on Node.
import { problem } from '../../http/problem.ts'
import { route } from '../../http/route.ts'
import type { HostName } from '../../use-cases/relay.ts'
import './ability.ts'

const instead: Record<HostName, string> = {
  node: 'this relay was not started from a file',
  azure:
    'on Azure, the configuration is part of what is deployed; deploy it again, which restarts the relay',
  cloudflare: 'on Cloudflare, the configuration is part of the worker; deploy it again',
}

export const reloadRoute = route({
  method: 'post',
  path: '/v1/reload',
  name: 'reloadConfiguration',
  summary: 'Reads the configuration again, on Node. Needs the admin key.',
  about:
    'If the configuration has a mistake, the relay keeps the old one, and the answer lists the mistakes. Otherwise the relay closes its connections and opens again, within seconds.',
  group: 'Relay',
  caller: 'admin',
  takesTurns: true,
  answers: { 202: { about: 'The relay takes the new configuration now.' } },
  problems: [409, 501],
  handler:
    ({ relay }) =>
    async (c) => {
      const read = await relay.host.abilities.readConfigAgain?.()
      if (read === undefined) return problem(c, 501, 'reload_unsupported', instead[relay.host.name])
      return read.outcome === 'accepted'
        ? c.body(null, 202)
        : problem(c, 409, 'config_refused', read.mistakes)
    },
})
