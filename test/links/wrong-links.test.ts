// However many wrong tokens come, a person with a valid one can look and decide. A valid one has
// its own limit.
import { beforeEach, expect, test } from 'vitest'
import { rightRate, wrongRate } from '../../functions/links/guard.ts'
import { forge, linkOf, press, watch } from '../support/people.ts'
import { eventNow, startWithEvent, world } from '../support/relay.ts'

let path: string

beforeEach(async () => {
  await startWithEvent()
  path = linkOf(world)
})

const wrongPath = (i: number) => `${path.slice(0, -4)}${String(i).padStart(4, '0')}`

function refusals(): { count: number }[] {
  return world.lines
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event === 'links_refused')
}

/** Statuses of this many wrong tokens within one second. */
async function storm(count: number, method = 'GET'): Promise<number[]> {
  const statuses = []
  const from = world.clock.now
  for (let i = 0; i < count; i++) {
    world.clock.now = from + Math.floor((i * 1_000) / count)
    statuses.push((await world.app.request(wrongPath(i), { method })).status)
  }
  world.clock.now = from + 1_000
  return statuses
}

test('1 000 wrong tokens in a second: most get 429, and a valid one can look and decide', async () => {
  const statuses = await storm(1_000)
  const named = statuses.filter((status) => status === 403).length
  expect(named).toBeGreaterThanOrEqual(wrongRate.burst)
  expect(named).toBeLessThanOrEqual(wrongRate.burst + 1_000 / wrongRate.everyMs)
  expect(new Set(statuses)).toEqual(new Set([403, 429]))
  expect((await world.app.request(path)).status).toBe(200)
  expect((await watch(world, path)).status).toBe(200)
  expect((await press(world, path, 'approve')).status).toBe(200)
  expect((await eventNow()).approvals).toHaveLength(1)
})

test('the valid one also works in the middle of it', async () => {
  await storm(500)
  world.clock.now -= 500
  const answers = await Promise.all([
    ...Array.from({ length: 500 }, (_, i) => world.app.request(wrongPath(i), { method: 'POST' })),
    press(world, path, 'approve'),
  ])
  expect(answers.at(-1)!.status).toBe(200)
})

test('a refusal says when to come back, and nothing about the token', async () => {
  await storm(100)
  world.clock.now -= 900
  const response = await world.app.request(wrongPath(1))
  expect(response.status).toBe(429)
  expect(response.headers.get('retry-after')).toBe('1')
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(await response.text()).not.toContain(wrongPath(1).slice(-20))
})

test('the log has at most a line a second, and counts each wrong token', async () => {
  for (let seconds = 0; seconds < 5; seconds++) await storm(100)
  await world.app.request(wrongPath(0))
  const lines = refusals()
  expect(lines.length).toBeLessThanOrEqual(6)
  expect(lines.reduce((sum, { count }) => sum + count, 0)).toBe(501)
  expect(world.lines.join()).not.toContain(path.slice(-40, -10))
})

test('after a pause wrong tokens get the usual answer again', async () => {
  await storm(1_000)
  world.clock.now += 1_000
  expect((await world.app.request(wrongPath(0))).status).toBe(403)
})

test('a valid link has one budget for looking and another for deciding', async () => {
  const looks = []
  for (let i = 0; i < rightRate.burst + 5; i++) looks.push((await world.app.request(path)).status)
  expect(looks.slice(0, rightRate.burst).every((status) => status === 200)).toBe(true)
  expect(looks.slice(rightRate.burst)).toEqual(Array(5).fill(429))
  // another person's link, for the same event
  expect((await world.app.request(await forge(world, { channel: 'team' }))).status).toBe(200)
  expect((await press(world, path, 'approve')).status).toBe(200)
  world.clock.now += rightRate.everyMs
  expect((await world.app.request(path)).status).toBe(200)
})

test('another spelling of the same signature is not another link', async () => {
  for (let i = 0; i < rightRate.burst; i++) await world.app.request(path)
  // 32 bytes leave two bits of the last character unused
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(path.at(-1)!)
  const twin = `${path.slice(0, -1)}${alphabet[last ^ 1]}`
  expect((await world.app.request(twin)).status).toBe(429)
})
