// `npm run reload`: a running relay on Node reads its configuration again.
import { command, exitCodes } from '../../cli/command.ts'
import { askRelay, describeRefusal, localRelayUrl, readAdminKey } from '../../cli/relay.ts'

export const reloadByCommand = command({
  usage: '',
  about: `
A running relay on Node reads its configuration again, all of it or nothing: if there is a mistake,
the relay keeps the old one, and this prints the mistakes. Variables are those of its start.

Environment: FOGHORN_ADMIN_KEY is the admin key of the relay, FOGHORN_URL its address. Without
FOGHORN_URL, it is the relay of this machine on PORT (7071).

Exit codes: 0 if the relay takes it, 2 if an option or a setting is wrong, otherwise 1.

Example:
  npm run reload`,
  async run({ io }) {
    const url = localRelayUrl(io.environment)
    const credential = readAdminKey(io.environment.FOGHORN_ADMIN_KEY)
    const answer = await askRelay(url, '/v1/reload', { credential, body: {} })
    if (answer.status !== 202) throw await describeRefusal(url, answer)
    io.print(io.paint('ok', 'The relay takes the new configuration.'))
    return exitCodes.fine
  },
})
