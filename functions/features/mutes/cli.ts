// `foghorn mute`: mutes events of a fleet for some time. Without a fleet, it lists the mutes.
import { escapeUnseen, visible } from '../../../shared/presentable.ts'
import { command, flag, type Io, text, wrong } from '../../cli/command.ts'
import { textTable } from '../../cli/layout.ts'
import { askRelay, credentialIn, describeRefusal, localRelayUrl } from '../../cli/relay.ts'

const minutesOf: Record<string, number> = { m: 1, h: 60, d: 1_440 }

/** What the API says of a mute. */
interface Listed {
  id: string
  fleet: string
  scaleSet?: string
  tag?: string
  reason?: string
  /** Absent: it has begun. */
  from?: string
  until: string
  by: string
}

export const mute = command({
  usage: '[FLEET --for TIME] [options]',
  about: `
Mutes events of FLEET: people are not told of them, webhooks and streams are. Without FLEET, it
lists the mutes that count now or later.

  --for TIME         for so long: 30m, 2h or 1d
  --scale-set NAME   only events that affect only VMs of this scale set
  --tag NAME=VALUE   only events that affect only VMs with this tag
  --reason TEXT      the console shows it
  --end ID           end this mute
  --json             print JSON, as the API shows it

Environment: FOGHORN_TOKEN is a token with the scope "manage", or FOGHORN_ADMIN_KEY the admin key;
FOGHORN_URL is the address of the relay. Without it, it is the relay of this machine on PORT (7071).

Exit codes: 0 if it is done, 2 if a word or a setting is wrong, otherwise 1.

Example:
  npm run mute -- prod --for 2h --scale-set web --reason "planned update"`,
  options: {
    ...{ for: text, 'scale-set': text, tag: text, reason: text, end: text, json: flag },
  },
  words: { least: 0, most: 1 },
  async run({ options, words: [fleet], io }) {
    const { tag, reason, end, json } = options
    if (end !== undefined) {
      await ask(io, `/v1/mutes/${encodeURIComponent(end)}`, { method: 'DELETE' })
      io.print(io.paint('ok', 'The mute has ended.'))
      return
    }
    if (fleet === undefined) {
      const { mutes } = (await (await ask(io, '/v1/mutes')).json()) as { mutes: Listed[] }
      for (const line of json
        ? mutes.map((one) => escapeUnseen(JSON.stringify(one)))
        : listMutes(mutes))
        io.print(line)
      return
    }
    const minutes = parseMinutes(options.for)
    const wish = { fleet, minutes, scaleSet: options['scale-set'], tag, reason }
    const added = (await (await ask(io, '/v1/mutes', { body: wish })).json()) as Listed
    const said = `Events of ${describeMute(added)} are muted until ${shown(added.until)}. To end it: npm run mute -- --end ${added.id}`
    io.print(json ? escapeUnseen(JSON.stringify(added)) : io.paint('ok', visible(said)))
  },
})

export function parseMinutes(given: string | undefined): number {
  const [, count = '', unit = ''] = /^(\d{1,5})([mhd])$/.exec(given ?? '') ?? []
  const minutes = Number(count) * (minutesOf[unit] ?? 0)
  if (minutes > 0) return minutes
  throw wrong(`--for is ${given === undefined ? 'missing' : `"${given}"`}; write 30m, 2h or 1d`)
}

function listMutes(mutes: Listed[]): string[] {
  if (mutes.length === 0) return ['Nothing is muted.']
  const rows = mutes.map((one) => {
    const when = `${one.from === undefined ? '' : `from ${shown(one.from)} `}until ${shown(one.until)}`
    return [describeMute(one), when, one.by, one.reason ?? '', one.id].map(visible)
  })
  return textTable(['EVENTS OF', 'WHEN', 'BY', 'REASON', 'ID'], rows)
}

/** `2026-11-29 14:00 UTC` */
function shown(until: string): string {
  return `${until.slice(0, 16).replace('T', ' ')} UTC`
}

function describeMute({ fleet, scaleSet, tag }: Listed): string {
  return [fleet, scaleSet && `scale set ${scaleSet}`, tag && `tag ${tag}`]
    .filter(Boolean)
    .join(', ')
}

async function ask(
  { environment }: Io,
  path: string,
  sent: { body?: object; method?: 'DELETE' } = {},
): Promise<Response> {
  const url = localRelayUrl(environment)
  const credential = credentialIn(environment)
  const answer = await askRelay(url, path, { credential, ...sent })
  if (!answer.ok) throw await describeRefusal(url, answer)
  return answer
}
