// `npm run export` as a process, beside a relay that answers in pages.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newFolder } from '../support/folder.ts'
import { Program } from '../support/process.ts'
import { adminKey } from '../support/world.ts'

test('an export follows the cursor, however short a page is, and goes on after a failed request', async () => {
  const pages: Record<string, object> = {
    '': { events: [{ fleet: 'prod', eventId: 'a' }], more: true, cursor: 'one' },
    one: { events: [{ fleet: 'prod', eventId: 'b' }], more: true, cursor: 'two' },
    two: { events: [{ fleet: 'prod', eventId: 'c' }], more: false },
  }
  const asked = new Set<string>()
  const server = createServer((request, response) => {
    const isFirst = !asked.has(request.url!)
    asked.add(request.url!)
    if (isFirst && request.url!.includes('cursor=two')) return void response.writeHead(503).end()
    if (isFirst && request.url!.endsWith('/b')) return void response.destroy()
    const { pathname, searchParams } = new URL(request.url!, 'http://relay')
    const isList = pathname === '/v1/events'
    const body = isList ? pages[searchParams.get('cursor') ?? ''] : { pathname }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const environment = { FOGHORN_URL: `http://127.0.0.1:${port}`, FOGHORN_ADMIN_KEY: adminKey }
  const file = join(newFolder('export'), 'events.jsonl')
  const words = ['export', file]
  const program = new Program('export', 'infra/foghorn.mjs', environment, () => {}, words)
  const { code } = await program.exited
  await program.ended
  server.close()
  expect(code).toBe(0)
  expect(program.output).toContain(`${file}: 3 events\n`)
  expect(program.output).toContain('Retrying: it answers HTTP 503')
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line).pathname)).toEqual([
    ...['/v1/events/prod/a', '/v1/events/prod/b', '/v1/events/prod/c'],
  ])
})

test('an export onto a disk that takes only a part leaves no file, and fails', async () => {
  const server = createServer((request, response) => {
    const isList = request.url!.startsWith('/v1/events?')
    const one = { fleet: 'prod', eventId: 'a' }
    response.end(JSON.stringify(isList ? { events: [one] } : { text: 'x'.repeat(20_000) }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const file = join(newFolder('export'), 'events.jsonl')
  const env = {
    ...process.env,
    FOGHORN_URL: `http://127.0.0.1:${port}`,
    FOGHORN_ADMIN_KEY: adminKey,
  }
  // blocks of 512 or 1,024 bytes: less than the file needs
  const script = `ulimit -f 8; exec "${process.execPath}" infra/foghorn.mjs export "${file}"`
  const child = spawn('sh', ['-c', script], { env, stdio: 'ignore' })
  const [code] = await once(child, 'close')
  server.close()
  expect([code, existsSync(file)]).toEqual([1, false])
})

test('an export from an address without a relay says so', async () => {
  const server = createServer((_, response) => void response.writeHead(404).end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const environment = { FOGHORN_URL: `http://127.0.0.1:${port}`, FOGHORN_ADMIN_KEY: adminKey }
  const words = ['export', join(newFolder('export'), 'events.jsonl')]
  const program = new Program('export', 'infra/foghorn.mjs', environment, () => {}, words)
  expect((await program.exited).code).toBe(2)
  await program.ended
  server.close()
  expect(program.output).toContain(`the server at http://127.0.0.1:${port} is no relay`)
})
