// `POST /v1/reload`: reads the configuration again, on Node.
import { problem } from '../problem.ts'
import { route } from '../route.ts'

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
      const reloaded = await relay.reload()
      if (reloaded.outcome === 'accepted') return c.body(null, 202)
      return reloaded.outcome === 'refused'
        ? problem(c, 409, 'config_refused', reloaded.mistakes)
        : problem(c, 501, 'reload_unsupported', reloaded.instead)
    },
})
