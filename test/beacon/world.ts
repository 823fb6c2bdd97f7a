// Shared by the tests of the beacon: a log to inspect, a state directory, a small HTTP server.
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createLog, type Log } from '../../shared/log.ts'

export const fleetKey = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

export interface Entry {
  level: string
  event: string
  [field: string]: unknown
}

export function createTestLog(): Log & { entries: Entry[]; named(event: string): Entry[] } {
  const entries: Entry[] = []
  const write = (line: string) => entries.push(JSON.parse(line))
  const log = createLog({ write, now: () => 0, level: 'debug' })
  return { ...log, entries, named: (event) => entries.filter((entry) => entry.event === event) }
}

/** A directory of this test alone. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'foghorn-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export interface Asked {
  method: string
  url: string
  headers: http.IncomingHttpHeaders
  body: string
}

interface TestServer {
  origin: string
  asked: Asked[]
}

/** Answers each request as `answer` does, and remembers it. */
export async function serve(
  answer: (asked: Asked, response: http.ServerResponse) => void,
  server: http.Server = http.createServer(),
): Promise<TestServer> {
  const asked: Asked[] = []
  server.on('request', async (request: http.IncomingMessage, response) => {
    const chunks: Buffer[] = await request.toArray()
    const { method = '', url = '', headers } = request
    const one = { method, url, headers, body: Buffer.concat(chunks).toString() }
    asked.push(one)
    answer(one, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}
