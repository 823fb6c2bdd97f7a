// `npm run backup -- FILE`: asks the running relay for a copy of its database, checks it and stores
// it. Only the relay can open its file: a copy by other programs would lack the latest writes.
import { DatabaseSync } from 'node:sqlite'
import { parseWords, wrong } from './arguments.ts'
import { askRelay, refusalOf } from './ask-relay.ts'
import { reportFailure } from './failure.ts'
import { adminKeyOf, localRelayUrl } from './relay-address.ts'
import { writeWhole } from './whole-file.ts'

const help = `npm run backup -- FILE

Stores a copy of the database of a running relay on Node in FILE, which only its owner can read.
FILE has its name only once it is whole. A file that is there is replaced.

Environment: FOGHORN_ADMIN_KEY is the admin key of the relay, FOGHORN_URL its address. Without
FOGHORN_URL, it is the relay of this machine on PORT (7071).

Exit codes: 0 if the copy is stored, 2 if an option or a setting is wrong, otherwise 1.

Example:
  npm run backup -- /var/backups/foghorn.sqlite`

/** For the copy, and to receive all of it. */
const backupMs = 60 * 60_000

try {
  const file = fileIn(process.argv.slice(2))
  if (file === undefined) print(help)
  else await backUp(file)
} catch (error) {
  reportFailure(error)
}

/** Undefined: the user wants help. */
function fileIn(words: string[]): string | undefined {
  const { values, positionals } = parseWords(words, { help: { type: 'boolean', short: 'h' } })
  if (values.help) return undefined
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0) {
    throw wrong('name one file; write npm run backup -- FILE')
  }
  return file
}

async function backUp(file: string): Promise<void> {
  const url = localRelayUrl()
  const credential = adminKeyOf(process.env.FOGHORN_ADMIN_KEY)
  const signal = AbortSignal.timeout(backupMs)
  const answer = await askRelay(url, '/v1/backup', { credential, body: {}, signal })
  if (answer.status !== 200 || answer.body === null) throw await refusalOf(url, answer)
  const expected = Number(answer.headers.get('content-length'))
  const bytes = await writeWhole(file, answer.body, (part, length) => {
    if (length !== expected)
      throw new Error(`the answer ended after ${length} of ${expected} bytes`)
    checkDatabase(part)
  })
  print(`${file}: ${(bytes / 1_000_000).toFixed(1)} MB`)
}

/** Throws if it is not a whole database of a relay. */
function checkDatabase(path: string): void {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const found = db.prepare('PRAGMA quick_check').get()?.quick_check
    if (found !== 'ok') throw new Error(`the copy is damaged: ${found}`)
    db.prepare('SELECT 1 FROM rows LIMIT 1').get()
  } finally {
    db.close()
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
