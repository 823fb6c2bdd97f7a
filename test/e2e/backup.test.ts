// A backup of a working relay by the command that owners use, and a relay that goes on from it: what
// was stored is there, what waited is sent, and what had arrived is not sent again.
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Program } from '../support/process.ts'
import { type Stage, startStage } from '../support/stage.ts'

let stage: Stage

beforeEach(async () => {
  stage = await startStage({ vms: [['web_0']] })
  await stage.startRelay()
})
afterEach(() => stage.stop())

async function run(command: 'backup' | 'export', words: string[], more: object = {}) {
  const environment = {
    PORT: new URL(stage.relayUrl).port,
    FOGHORN_ADMIN_KEY: stage.secrets.adminKey,
    ...more,
  }
  const program = new Program(command, 'infra/foghorn.mjs', environment, () => {}, [
    command,
    ...words,
  ])
  const { code } = await program.exited
  await program.ended
  return { code, output: program.output }
}

async function ask(path: string, key = stage.secrets.adminKey, body?: object) {
  const headers = { authorization: `Bearer ${key}` }
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${stage.relayUrl}${path}`, { headers, ...init })
  return (await response.json()) as ReturnType<typeof JSON.parse>
}

const sentAbout = (eventId: string) =>
  stage.sinks.received.filter(({ body }) => body.includes(eventId.toLowerCase()))

test('a relay goes on from a backup', { timeout: 60_000 }, async () => {
  const [beacon] = await stage.startBeacons()
  // PagerDuty asks for patience, so its message waits
  stage.sinks.failNext({ kind: 'pagerduty', status: 503, times: 1_000 })
  const id = stage.simulator.createEvent({ EventType: 'Reboot', Resources: ['web_0'] })
  await stage.sinks.waitFor(({ kind }) => kind === 'pagerduty', 15_000)
  await stage.relay!.waitFor('delivered', ({ channel }) => channel === 'system')
  await stage.relay!.waitFor('delivered', ({ channel }) => channel === 'chat')
  await stage.relay!.waitFor('delivered', ({ channel }) => channel === 'team')
  const event = `/v1/events/demo/${id.toLowerCase()}`
  await ask(`${event}/decision`, stage.secrets.adminKey, { decision: 'not_now' })
  const { token } = await ask('/v1/tokens', stage.secrets.adminKey, {
    ...{ name: 'robot', scopes: ['read'] },
  })
  await beacon!.stop()
  await stage.relay!.waitFor(
    'delivered',
    ({ channel, moment }) => channel === 'system' && moment === 'declined',
  )
  const before = await ask(event, token)
  const file = join(stage.directory, 'copy.sqlite')
  writeFileSync(file, 'an older backup')
  expect(await run('backup', [file])).toMatchObject({
    code: 0,
    output: expect.stringContaining('MB'),
  })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const data = join(stage.directory, 'relay')
  const left = [...readdirSync(data), ...readdirSync(stage.directory)]
  expect(left.filter((name) => /part|backup/.test(name))).toEqual([])

  await stage.relay!.stop()
  rmSync(data, { recursive: true })
  const arrived = sentAbout(id).filter(({ accepted }) => accepted).length
  stage.sinks.heal()
  mkdirSync(data)
  copyFileSync(file, join(data, 'foghorn.sqlite'))
  const relay = await stage.startRelay()
  const after = await ask(event, token)
  expect(after).toMatchObject({
    phase: 'scheduled',
    approvals: before.approvals,
    history: before.history,
    seenBy: before.seenBy,
  })
  const waited = before.deliveries.filter(({ state }: { state: string }) => state === 'pending')
  expect(waited.length).toBeGreaterThan(0)
  const settled = await stage.settledEvent(id)
  const ended = settled.deliveries.map(({ state }: { state: string }) => state)
  expect(ended.every((state: string) => ['delivered', 'superseded'].includes(state))).toBe(true)
  // a drill has passed through all channels, so nothing else is under way
  const drill = await ask('/v1/drills', stage.secrets.adminKey, {
    ...{ fleet: 'demo', type: 'Freeze', noticeSeconds: 600 },
  })
  await relay.waitFor('delivered', ({ eventId }) => eventId === drill.eventId)
  await stage.settledEvent(drill.eventId)
  const delivered = settled.deliveries.filter(
    ({ channel, state }: { channel: string; state: string }) =>
      channel === 'pager' && state === 'delivered',
  )
  const all = sentAbout(id).filter(({ accepted }) => accepted)
  expect(all.length - arrived).toBe(delivered.length)
})

test('what goes wrong leaves no file, and says what to do', { timeout: 60_000 }, async () => {
  const file = join(stage.directory, 'copy.sqlite')
  writeFileSync(file, 'an older backup')
  const wrongs: [string[], object, number, string][] = [
    [[], {}, 2, 'FILE is missing'],
    [[file, file], {}, 2, 'is one word too many'],
    [[file], { FOGHORN_ADMIN_KEY: '' }, 2, 'FOGHORN_ADMIN_KEY is not set'],
    [[file], { FOGHORN_ADMIN_KEY: 'wrong' }, 1, 'neither a valid token nor the admin key'],
    [[file], { FOGHORN_URL: 'http://relay.example' }, 2, 'send the key unencrypted'],
    [[file], { PORT: '1' }, 1, ''],
    [[join(stage.directory, 'none', 'x')], {}, 2, 'make it first'],
  ]
  for (const [words, environment, code, said] of wrongs) {
    const done = await run('backup', words, environment)
    expect(done).toMatchObject({ code, output: expect.stringContaining(said) })
    expect(done.output).not.toContain(stage.secrets.adminKey)
  }
  expect(readFileSync(file, 'utf8')).toBe('an older backup')
  expect(readdirSync(stage.directory).filter((name) => name.includes('part'))).toEqual([])
})

test('all events are exported as JSON lines', { timeout: 60_000 }, async () => {
  const drill = { fleet: 'demo', type: 'Freeze', noticeSeconds: 600 }
  const made = await Promise.all([0, 1, 2].map(() => ask('/v1/drills', undefined, drill)))
  for (const { eventId } of made) await stage.settledEvent(eventId)
  const file = join(stage.directory, 'events.jsonl')
  const { token } = await ask('/v1/tokens', undefined, { name: 'robot', scopes: ['read'] })
  const done = await run('export', [file], { FOGHORN_TOKEN: token, FOGHORN_ADMIN_KEY: '' })
  expect(done).toEqual({ code: 0, output: `${file}: 3 events\n` })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  const events = lines.map((line) => JSON.parse(line))
  const ids = (all: { eventId: string }[]) => all.map(({ eventId }) => eventId).sort()
  expect(ids(events)).toEqual(ids(made))
  for (const event of events) {
    expect(event).toEqual(await ask(`/v1/events/demo/${event.eventId}`))
  }
  const wrong = await run('export', [join(stage.directory, 'x'), '--fleet', 'demi'])
  expect(wrong).toMatchObject({ code: 2, output: expect.stringContaining('no fleet "demi"') })
})
