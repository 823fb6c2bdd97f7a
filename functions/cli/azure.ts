// `foghorn azure check`: asks the relay what is switched on in Azure, and prints it with the commands that
// switch on what is missing.
import { visible } from '../../shared/presentable.ts'
import type { AzureState } from '../use-cases/check-azure.ts'
import { command, wrong } from './command.ts'
import { askRelay, credentialIn, describeRefusal, localRelayUrl } from './relay.ts'

/** Names in one line. */
const maxNames = 20

export const azure = command({
  usage: 'check',
  about: `
Shows each subscription under "azure" of the configuration: whether the relay can read it, which
sets and VMs publish their events outside the VMs, which VMs have no beacon, and whose events nobody
sees. docs/azure.md has the commands that switch it on.

Environment: FOGHORN_TOKEN is a token with the scope "read", or FOGHORN_ADMIN_KEY the admin key;
FOGHORN_URL is the address of the relay. Without it, it is the relay of this machine on PORT (7071).

Exit codes: 0 if each VM has a beacon or publishes its events, 2 if a word or a setting is wrong,
otherwise 1.`,
  words: { least: 1, most: 1 },
  async run({ words: [what], io }) {
    if (what !== 'check') throw wrong(`there is no "azure ${what}"; write foghorn azure check`)
    const url = localRelayUrl(io.environment)
    const credential = credentialIn(io.environment)
    const answer = await askRelay(url, '/v1/azure', { credential })
    if (answer.status !== 200) throw await describeRefusal(url, answer)
    const { subscriptions } = (await answer.json()) as { subscriptions: AzureState[] }
    if (subscriptions.length === 0)
      throw wrong('the configuration of the relay has no "azure"; docs/azure.md shows it')
    for (const one of subscriptions) {
      io.print(visible(describeHead(one)))
      for (const { as, text } of listLines(one)) io.print(`  ${io.paint(as, visible(text))}`)
    }
    return subscriptions.every(isFine) ? 0 : 1
  },
})

function describeHead({ subscriptionId, fleet }: AzureState): string {
  const whose = fleet === undefined ? 'no fleet takes its events' : `fleet ${fleet}`
  return `Azure subscription ${subscriptionId} (${whose})`
}

function isFine({ problem, blind }: AzureState): boolean {
  return problem === undefined && blind.length === 0
}

function listLines({ problem, publishing, silent, withoutBeacon, blind }: AzureState) {
  if (problem !== undefined) return [{ as: 'mistake' as const, text: problem }]
  const line = (as: 'ok' | 'mistake', what: string, names: string[]) => ({
    as,
    text: `${names.length} ${what}${listed(names)}`,
  })
  return [
    line('ok', 'publish their events', publishing),
    line('ok', 'do not', silent),
    line('ok', 'have no beacon', withoutBeacon),
    line(blind.length > 0 ? 'mistake' : 'ok', 'of these are seen by nobody', blind),
  ]
}

function listed(names: string[]): string {
  if (names.length === 0) return ''
  const more = names.length > maxNames ? `, and ${names.length - maxNames} more` : ''
  return `: ${names.slice(0, maxNames).join(', ')}${more}`
}
