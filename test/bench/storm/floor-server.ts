// The least that any durable relay on Node does, as a process of its own: checks the signature of a
// report, parses it, and answers once the body is in SQLite. Reports that wait share one commit.
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { secretBytes, signatureToleranceMs } from '../../../shared/signature.ts'
import { listen } from '../../simulator/http.ts'

const key = createSecretKey(secretBytes(process.env.FLEET_KEY ?? ''))
const db = new DatabaseSync(process.env.FLOOR_FILE ?? '')
db.exec(`PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
  CREATE TABLE reports (body TEXT NOT NULL) STRICT`)
const begin = db.prepare('BEGIN')
const insert = db.prepare('INSERT INTO reports VALUES (?)')
const commit = db.prepare('COMMIT')

const answer = JSON.stringify({ outcome: 'accepted' })
const headers = { 'content-type': 'application/json', 'content-length': answer.length }
let waiting: { text: string; response: ServerResponse }[] = []

function flush(): void {
  const batch = waiting
  waiting = []
  begin.run()
  for (const { text } of batch) insert.run(text)
  commit.run()
  for (const { response } of batch) response.writeHead(200, headers).end(answer)
}

function take({ headers: sent }: IncomingMessage, text: string, response: ServerResponse): void {
  const timestamp = sent['webhook-timestamp']
  const content = `${sent['webhook-id']}.${timestamp}.${text}`
  const expected = createHmac('sha256', key).update(content).digest()
  const given = Buffer.from(String(sent['webhook-signature']).slice('v1,'.length), 'base64')
  const isLate = Math.abs(Date.now() - Number(timestamp) * 1_000) > signatureToleranceMs
  const isSigned = given.length === expected.length && timingSafeEqual(given, expected)
  if (isLate || !isSigned || JSON.parse(text).version !== 1) {
    response.writeHead(401, { 'content-length': 0 }).end()
    return
  }
  if (waiting.length === 0) setImmediate(flush)
  waiting.push({ text, response })
}

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => take(request, Buffer.concat(parts).toString(), response))
})
const port = await listen(server, 0)
process.stdout.write(`${JSON.stringify({ event: 'floor_started', port })}\n`)
