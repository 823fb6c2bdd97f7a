// Files that are not what they should be: the relay says so, and goes on with what it has.
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { renameSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { FakeBeacon } from '../support/fake-beacon.ts'
import type { Entry } from '../support/process.ts'
import { fleetName, type Stage, startStage } from '../support/stage.ts'
import { event } from '../support/world.ts'

let stage: Stage

beforeEach(async () => {
  stage = await startStage({ vms: [['web_0']] })
  await stage.startRelay()
})
afterEach(() => stage.stop())

const ask = async (path: string, method = 'GET') => {
  const headers = { authorization: `Bearer ${stage.secrets.adminKey}` }
  const answer = await fetch(`${stage.relayUrl}${path}`, { method, headers })
  return { status: answer.status, body: (await answer.json()) as ReturnType<typeof JSON.parse> }
}

describe('the configuration, at a reload', () => {
  const replaceConfig = (make: (path: string) => void) => {
    const path = join(stage.directory, 'foghorn.config.json')
    renameSync(path, `${path}.old`)
    make(path)
  }

  test.skipIf(process.platform === 'win32').each<[string, (path: string) => void, string]>([
    ['a pipe', (path) => spawnSync('mkfifo', [path]), 'it is no file'],
    ['a device without end', (path) => symlinkSync('/dev/zero', path), 'it is no file'],
    ['a folder', (path) => symlinkSync('/tmp', path), 'it is no file'],
    [
      'an endless file',
      (path) => {
        writeFileSync(path, '')
        truncateSync(path, 1_000_000_000)
      },
      'more than 1048576 bytes',
    ],
  ])('%s is refused, and the relay answers', async (_, make, why) => {
    replaceConfig(make)
    const reloads = [ask('/v1/reload', 'POST'), ask('/v1/reload', 'POST')]
    expect((await ask('/healthz')).body.status).toBe('ok')
    for (const one of await Promise.all(reloads)) expect(one.status).toBe(409)
    // of two at once, one may say that the other has not ended
    const saysWhy = ({ mistakes }: Entry) => String(mistakes).includes(why)
    await stage.relay!.waitFor('config_refused', saysWhy, 20_000)
  })
})

test('a damaged row: the rest works, and the relay says what to do', async () => {
  const app = { request: (path: string, init: RequestInit) => fetch(stage.relayUrl + path, init) }
  const clock = {
    get now() {
      return Date.now()
    },
  }
  const key = stage.secrets.fleetKey
  const beacon = new FakeBeacon({ app, clock }, 'web_0', { fleet: fleetName, key })
  const ids = Array.from({ length: 6 }, () => randomUUID())
  const notBeforeAt = Date.now() + 3_600_000
  await beacon.sees(ids.map((eventId) => event({ eventId, notBeforeAt })))
  await stage.relay!.stop()
  const db = new DatabaseSync(join(stage.directory, 'relay/foghorn.sqlite'))
  const { partition } = db
    .prepare("SELECT partition FROM rows WHERE row = 'event' AND partition LIKE ?")
    .get(`%${ids[2]}`) as { partition: string }
  // as flipped bits leave it
  db.prepare("UPDATE rows SET body = replace(body, ':', char(1)) WHERE partition = ?").run(
    partition,
  )
  db.close()
  const relay = await stage.startRelay()
  const path = (id: string) => `/v1/events/${fleetName}/${id}`
  expect((await ask(path(ids[0]!))).status).toBe(200)
  expect(await ask(path(ids[2]!))).toMatchObject({ status: 500, body: { code: 'data_damaged' } })
  const { events } = (await ask('/v1/events')).body
  expect(events).toHaveLength(5)
  const health = (await ask('/healthz')).body
  expect(health).toMatchObject({ status: 'troubled' })
  expect(String(health.troubles)).toContain('Restore a backup')
  expect(relay.entries.filter((one) => one.event === 'database_damaged')).toHaveLength(1)
  // what is due does not stop
  const next = randomUUID()
  await beacon.sees([...ids.slice(3), next].map((eventId) => event({ eventId, notBeforeAt })))
  await relay.waitFor('delivered', (entry) => entry.eventId === next)
})
