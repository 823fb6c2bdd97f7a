// `npm run backup -- FILE`: asks the running relay for a copy of its database, checks it and stores
// it. Only the relay can open its file: a copy by other programs would lack the latest writes.

import { command, type Io } from '../../cli/command.ts'
import { askRelay, describeRefusal, localRelayUrl, readAdminKey } from '../../cli/relay.ts'
import { writeWhole } from '../../cli/whole-file.ts'
import { checkBackup } from '../../store/sqlite-file.ts'

/** Time for the relay's copy, and to receive all of it. */
const backupMs = 60 * 60_000

export const backupFile = command({
  usage: 'FILE',
  about: `
Stores a copy of the database of a running relay on Node in FILE, which only its owner can read.
FILE has its name only once it is whole. A file that is there is replaced.

Environment: FOGHORN_ADMIN_KEY is the admin key of the relay, FOGHORN_URL its address. Without
FOGHORN_URL, it is the relay of this machine on PORT (7071).

Exit codes: 0 if the copy is stored, 2 if an option or a setting is wrong, otherwise 1.

Example:
  npm run backup -- /var/backups/foghorn.sqlite`,
  words: { least: 1, most: 1 },
  async run({ words: [file = ''], io }) {
    const url = localRelayUrl(io.environment)
    const credential = readAdminKey(io.environment.FOGHORN_ADMIN_KEY)
    const signal = AbortSignal.timeout(backupMs)
    const answer = await askRelay(url, '/v1/backup', { credential, body: {}, signal })
    if (answer.status !== 200 || answer.body === null) throw await describeRefusal(url, answer)
    const expected = Number(answer.headers.get('content-length'))
    const bytes = await writeWhole(file, shown(answer.body, expected, io), (part, length) => {
      if (length !== expected)
        throw new Error(`the answer ended after ${length} of ${expected} bytes`)
      checkBackup(part, { ofAnyVersion: true })
    })
    io.print(`${file}: ${inMb(bytes)}`)
  },
})

async function* shown(body: AsyncIterable<Uint8Array>, expected: number, io: Io) {
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    io.progress(`${inMb(bytes)} of ${inMb(expected)}`)
    yield piece
  }
}

function inMb(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
