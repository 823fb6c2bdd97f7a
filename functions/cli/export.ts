// `npm run export -- FILE`: all events of a relay as JSON lines, each with its history and its
// messages, as the API shows them. It works with every host.
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../shared/errors.ts'
import { command, type Io, text, wrong } from './command.ts'
import { askRelay, credentialIn, describeRefusal, localRelayUrl } from './relay.ts'
import { writeWhole } from './whole-file.ts'

const pageSize = 200
/** Requests at once. */
const atOnce = 8
/** Attempts of one request. The waits between the attempts double: 16 s in all. */
const maxAttempts = 6
const retryMs = 500

interface Listed {
  fleet: string
  eventId: string
}

type Ask = (path: string) => Promise<Response>

export const exportEvents = command({
  usage: 'FILE [--fleet NAME]',
  about: `
Stores all events of a relay in FILE, one JSON object a line, the newest first: each as
GET /v1/events/FLEET/ID answers it, with history and messages. Only the owner of FILE can read it.
FILE has its name only once it is whole. A file that is there is replaced.

  --fleet NAME     only events of this fleet

Environment: FOGHORN_TOKEN is a token with the scope "read", or FOGHORN_ADMIN_KEY the admin key;
FOGHORN_URL is the address of the relay. Without it, it is the relay of this machine on PORT (7071).

Exit codes: 0 if all events are stored, 2 if an option or a setting is wrong, otherwise 1.

Example:
  npm run export -- events.jsonl --fleet prod`,
  options: { fleet: text },
  words: { least: 1, most: 1 },
  async run({ options: { fleet }, words: [file = ''], io }) {
    const url = localRelayUrl(io.environment)
    const credential = credentialIn(io.environment)
    const ask: Ask = async (path) => {
      const answer = await askPatiently(url, path, credential, io)
      // the relay may have removed the event since it was listed
      if (answer.status !== 200 && answer.status !== 404) throw await describeRefusal(url, answer)
      return answer
    }
    let count = 0
    async function* lines() {
      for await (const page of readPages(ask, url, fleet)) {
        for (let i = 0; i < page.length; i += atOnce) {
          const some = await Promise.all(page.slice(i, i + atOnce).map((one) => toLine(ask, one)))
          const found = some.filter((line) => line !== undefined)
          count += found.length
          io.progress(`${count} events`)
          yield found.join('')
        }
      }
    }
    await writeWhole(file, lines())
    io.print(`${file}: ${count} events`)
  },
})

/** Tries again if the relay does not answer, is busy, or fails: an export makes many requests. */
async function askPatiently(
  url: string,
  path: string,
  credential: string,
  { note }: Io,
): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const isLast = attempt === maxAttempts
    let reason: string
    try {
      const answer = await askRelay(url, path, { credential })
      const isPassing = answer.status === 429 || answer.status >= 500
      if (isLast || !isPassing) return answer
      await answer.body?.cancel()
      reason = `it answers HTTP ${answer.status}`
    } catch (error) {
      if (isLast) throw error
      reason = messageOf(error)
    }
    note(`The relay at ${url} fails. Retrying: ${reason}`)
    await sleep(retryMs * 2 ** (attempt - 1))
  }
}

async function* readPages(
  ask: Ask,
  url: string,
  fleet: string | undefined,
): AsyncGenerator<Listed[]> {
  const fixed = { limit: String(pageSize), ...(fleet === undefined ? {} : { fleet }) }
  for (let cursor: string | undefined; ; ) {
    const query = new URLSearchParams({ ...fixed, ...(cursor === undefined ? {} : { cursor }) })
    const answer = await ask(`/v1/events?${query}`)
    if (answer.status === 404) throw wrong(whyNotFound(url, fleet))
    const page = (await answer.json()) as { events: Listed[]; cursor?: string }
    yield page.events
    cursor = page.cursor
    if (cursor === undefined) return
  }
}

function whyNotFound(url: string, fleet: string | undefined): string {
  if (fleet !== undefined) return `the relay has no fleet "${fleet}"`
  return `the server at ${url} is no relay of Foghorn; set FOGHORN_URL to the address of the relay`
}

async function toLine(ask: Ask, { fleet, eventId }: Listed): Promise<string | undefined> {
  const path = [fleet, eventId].map(encodeURIComponent).join('/')
  const answer = await ask(`/v1/events/${path}`)
  return answer.status === 404 ? undefined : `${JSON.stringify(await answer.json())}\n`
}
