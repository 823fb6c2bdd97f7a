// Relays on Node that share a PostgreSQL, each as a process: what one knows, all know, and nothing is lost if a relay or
// the database goes away for a while.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decideByForm } from '../support/form.ts'
import { WaitingBeacon } from '../support/held.ts'
import { noPostgres, type Postgres, postgresNeeded, startPostgres } from '../support/postgres.ts'
import { Program } from '../support/process.ts'
import { freePort } from '../support/stage.ts'
import { adminKey, event, FakeBeacon, prodKey } from '../support/world.ts'

const patience = { timeout: 180_000 }
const linkKey = Buffer.alloc(32, 1).toString('base64')

describe.skipIf(noPostgres)(`relays on one database: ${postgresNeeded}`, () => {
  let server: Postgres
  let folder: string
  let sink: Server
  /** Bodies that arrived, the oldest first. */
  let got: { path: string; body: string }[]
  let isHanging: boolean
  let database: string
  let ports: number[]
  let relays: Program[]

  beforeAll(async () => {
    server = await startPostgres()
    folder = mkdtempSync(join(tmpdir(), 'foghorn-postgres-'))
    sink = createServer(async (request, response) => {
      let body = ''
      for await (const piece of request) body += piece
      got.push({ path: request.url ?? '', body })
      if (!isHanging) response.end('ok')
    })
    await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve))
  }, 120_000)
  afterAll(async () => {
    sink?.close()
    sink?.closeAllConnections()
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  beforeEach(async () => {
    got = []
    isHanging = false
    relays = []
    database = await server.newDatabase()
    ports = [await freePort(), await freePort()]
  })
  afterEach(async () => {
    for (const relay of relays) if (relay.running) await relay.stop()
  })

  function run(place: number, changes: Record<string, string> = {}): Program {
    const { port } = sink.address() as { port: number }
    const file = join(folder, `${randomUUID()}.json`)
    const config = {
      publicUrl: `http://127.0.0.1:${ports[0]}`,
      allowNetworks: ['127.0.0.0/8'],
      fleets: { prod: { key: prodKey } },
      channels: { chat: { kind: 'slack', url: `http://127.0.0.1:${port}/slack` } },
      routes: [{ match: {}, channels: ['chat'] }],
    }
    writeFileSync(file, JSON.stringify(config))
    const environment = {
      ...{ FOGHORN_CONFIG: file, FOGHORN_LINK_KEY: linkKey, FOGHORN_ADMIN_KEY: adminKey },
      ...{ FOGHORN_DATABASE: database, PORT: String(ports[place]), ...changes },
    }
    const relay = new Program(`relay ${place}`, 'functions/host/node/main.ts', environment)
    relays.push(relay)
    return relay
  }
  async function start(place: number): Promise<Program> {
    const relay = run(place)
    await relay.waitFor('relay_started')
    return relay
  }
  const url = (place: number) => `http://127.0.0.1:${ports[place]}`
  /** Its reports go to the relay at this place. */
  function beacon(name: string, place: () => number): FakeBeacon {
    const app = { request: (path: string, init: RequestInit) => fetch(url(place()) + path, init) }
    const clock = {
      get now() {
        return Date.now()
      },
    }
    return new FakeBeacon({ app, clock }, name)
  }
  const soon = (changes: Parameters<typeof event>[0] = {}) =>
    event({ notBeforeAt: Date.now() + 30 * 60_000, ...changes })
  async function until<T>(
    find: () => T | undefined | Promise<T | undefined>,
    ms = 30_000,
  ): Promise<T> {
    let found: T | undefined
    const look = async () => {
      found = await find()
      return found !== undefined
    }
    await expect.poll(look, { timeout: ms }).toBe(true)
    return found!
  }
  const linkIn = ({ body }: { body: string }) => /https?:[^"]+\/approve\/([\w.-]+)/.exec(body)![1]!
  const isDelivered = ({ state }: { state: string }) => state === 'delivered'
  const read = async (place: number, eventId: string) => {
    const headers = { authorization: `Bearer ${adminKey}` }
    const answer = await fetch(`${url(place)}/v1/events/prod/${eventId}`, { headers })
    return (await answer.json()) as { approvals: object[]; deliveries: { state: string }[] }
  }

  test(
    'one message, whichever relay hears of the event; a press at one reaches a beacon that waits at the other',
    patience,
    async () => {
      await Promise.all([start(0), start(1)])
      const own = soon()
      await beacon('web_1', () => 1).sees([own])
      const app = { request: (path: string, init: RequestInit) => fetch(url(0) + path, init) }
      const waiting = new WaitingBeacon({ app, clock: { now: Date.now() } }, 'web_0')
      await waiting.sees([own])
      const held = waiting.waits([own])
      const message = await until(() => got[0])
      const answer = await decideByForm(fetch, `${url(1)}/approve/${linkIn(message)}`)
      expect(answer.status).toBe(200)
      await held
      const { directives } = await beacon('web_0', () => 0).sees([own])
      expect(directives).toHaveLength(1)
      // both relays have had their look at what is due
      const record = await until(async () => {
        const now = await read(0, own.eventId)
        return now.deliveries.length === 2 && now.deliveries.every(isDelivered) ? now : undefined
      })
      expect(record.approvals).toMatchObject([{ decision: 'approved' }])
      expect(got).toHaveLength(2)
    },
  )

  test('a relay that stops hands back what it has under way', patience, async () => {
    isHanging = true
    const first = await start(0)
    await beacon('web_0', () => 0).sees([soon()])
    await until(() => got[0])
    // longer than a test waits for a stop elsewhere
    first.kill('SIGTERM')
    await first.exited
    const line = first.entries.find(({ event: name }) => name === 'delivery_retried')
    expect(line).toMatchObject({ attempts: 1, state: 'pending' })
    isHanging = false
    await start(1)
    await until(() => got[1])
  })

  test(
    'one of them is killed again and again: all is told, and little twice',
    patience,
    async () => {
      await Promise.all([start(0), start(1)])
      const ids = Array.from({ length: 20 }, (_, i) => `event-${i}`)
      let kills = 0
      for (const [i, eventId] of ids.entries()) {
        const place = i % 2
        const one = beacon(`vm_${i}`, () => place)
        const own = soon({ eventId, resources: [`vm_${i}`] })
        // a beacon repeats what no relay took
        await repeated(() => one.sees([own]))
        if (i % 3 > 0) continue
        // it has taken the report, and may be sending
        const victim = relays.findLast(({ name }) => name === `relay ${place}`)!
        victim.kill('SIGKILL')
        await victim.exited
        kills += 1
        await start(place)
      }
      const told = () =>
        ids.filter((_, i) =>
          got.some(
            ({ body }) =>
              body.includes(`vm_${i} `) || body.includes(`vm_${i}"`) || body.includes(`vm_${i}\\n`),
          ),
        )
      await until(() => (told().length === ids.length ? true : undefined), 150_000)
      // what a relay had sent when it was killed may come once more
      expect(got.length).toBeLessThanOrEqual(ids.length + kills)
    },
  )

  test(
    'the database goes away: reports are refused soon, and all is told once it is back',
    patience,
    async () => {
      const relay = await start(0)
      const one = beacon('web_0', () => 0)
      await one.sees([])
      await server.kill()
      const refused = await one.post(one.body([soon()]))
      expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
        503,
        'storage_unavailable',
      ])
      expect((await fetch(`${url(0)}/healthz`)).status).toBe(503)
      await server.start()
      await repeated(() => one.sees([soon()]))
      await until(() => got[0])
      await repeated(async () => {
        const { status } = await fetch(`${url(0)}/healthz`)
        if (status !== 200) throw new Error(`${status}`)
      })
      expect(relay.running).toBe(true)
    },
  )

  test(
    'a database that only reads: reports are refused, and /healthz says that it failed',
    patience,
    async () => {
      await start(0)
      const name = database.slice(database.lastIndexOf('/') + 1)
      await server.run(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
      await server.run(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
      )
      const one = beacon('web_0', () => 0)
      const refused = await until(async () => {
        const { status } = await one.post(one.body([soon()]))
        return status === 503 ? status : undefined
      })
      expect(refused).toBe(503)
      expect((await fetch(`${url(0)}/healthz`)).status).toBe(503)
      await server.run(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
      await server.run(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
      )
      await repeated(() => one.sees([soon()]))
      await until(async () =>
        (await fetch(`${url(0)}/healthz`)).status === 200 ? true : undefined,
      )
    },
  )

  test.each<[string, () => Promise<Record<string, string>>, RegExp]>([
    [
      'of another Foghorn',
      async () => {
        await (await start(0)).stop()
        return { FOGHORN_LINK_KEY: Buffer.alloc(32, 9).toString('base64') }
      },
      /another Foghorn uses this database: give both relays one FOGHORN_LINK_KEY/,
    ],
    [
      'that is not there',
      async () => ({ FOGHORN_DATABASE: database.replace(/\w+$/, 'nowhere') }),
      /nowhere.* check user, password and database of FOGHORN_DATABASE/,
    ],
    [
      'in which its user may make nothing',
      async () => {
        await server.run('CREATE ROLE reader LOGIN')
        return { FOGHORN_DATABASE: database.replace('//postgres@', '//reader@') }
      },
      /let its user make the schema "foghorn"/,
    ],
  ])('a database %s is refused with a remedy', patience, async (_, prepare, said) => {
    const relay = run(1, await prepare())
    const { code } = await relay.exited
    await relay.ended
    expect(relay.output).toMatch(said)
    expect(code).toBe(2)
  })

  async function repeated(work: () => Promise<unknown>): Promise<void> {
    const isDone = () =>
      work().then(
        () => true,
        () => false,
      )
    await expect.poll(isDone, { timeout: 60_000 }).toBe(true)
  }
})
