// The calendar, read by a parser that we did not write, over the life of an event; and the tokens
// that open it.
import ICAL from 'ical.js'
import { beforeEach, describe, expect, test } from 'vitest'
import { hour, minute, report, startRelay, world } from '../../support/relay.ts'
import { askApi, makeToken } from '../../support/tokens.ts'
import { adminKey, event, eventId, FakeBeacon, startAt, started } from '../../support/world.ts'

let token: string
beforeEach(async () => {
  await startRelay()
  token = (await makeToken(world, { name: 'wall', scopes: ['calendar'] })).token
})

const get = (text: string) => world.app.request(`/calendar.ics?token=${text}`)
const day = 24 * hour
const codeOf = async (response: Response) => ((await response.json()) as { code: string }).code

/** The text of the feed, after the shared answer is outdated. */
async function feed(text = token): Promise<string> {
  world.clock.now += minute
  const response = await get(text)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/calendar; charset=utf-8')
  return response.text()
}

interface Entry {
  uid: string
  sequence: number
  status: string
  summary: string
  description: string
  from: string
  to: string
}

function entriesIn(text: string): Entry[] {
  ICAL.design.strict = true
  const calendar = new ICAL.Component(ICAL.parse(text) as never)
  expect(calendar.getFirstPropertyValue('version')).toBe('2.0')
  return calendar.getAllSubcomponents('vevent').map((component) => {
    const entry = new ICAL.Event(component)
    for (const { zone } of [entry.startDate, entry.endDate])
      expect(zone).toBe(ICAL.Timezone.utcTimezone)
    return {
      uid: entry.uid,
      sequence: entry.sequence,
      status: String(component.getFirstPropertyValue('status')),
      summary: entry.summary,
      description: entry.description,
      from: entry.startDate.toJSDate().toISOString(),
      to: entry.endDate.toJSDate().toISOString(),
    }
  })
}

const entries = async (text?: string) => entriesIn(await feed(text))

describe('the calendar', () => {
  test('has each of a hundred events, also beside a damaged one', async () => {
    const names = Array.from({ length: 100 }, (_, i) => `web_${i}`)
    for (const name of names) {
      await new FakeBeacon(world, name).sees([event({ eventId: `id-${name}`, resources: [name] })])
      world.clock.now += 1
    }
    expect(await entries()).toHaveLength(100)
    const damaged = "UPDATE rows SET body = '{}' WHERE row = 'event' AND partition = ?"
    world.store.alter(damaged, 'event|prod|id-web_95')
    expect(await entries()).toHaveLength(99)
  })

  test('of a relay without events is valid and empty', async () => {
    expect(await entries()).toEqual([])
  })

  test('has an event from its first sight to its end', async () => {
    await report(event({ durationSeconds: 3_600, notBeforeAt: startAt + hour }))
    const [first] = await entries()
    expect(first).toMatchObject({
      status: 'TENTATIVE',
      summary: 'Reboot of web_0 (prod)',
      from: '2026-11-21T13:00:00.000Z',
      to: '2026-11-21T14:00:00.000Z',
    })
    await report(event({ durationSeconds: 3_600, notBeforeAt: startAt + 2 * hour }))
    const [moved] = await entries()
    expect(moved).toMatchObject({ uid: first!.uid, from: '2026-11-21T14:00:00.000Z' })
    expect(moved!.sequence).toBeGreaterThan(first!.sequence)
    const body = { decision: 'approve' }
    await askApi(world, adminKey, `/v1/events/prod/${eventId}/decision`, { method: 'POST', body })
    expect(await entries()).toMatchObject([{ uid: first!.uid, status: 'CONFIRMED' }])
    await report(started({ durationSeconds: 60 }))
    const startedAt = world.clock.now
    world.clock.now += hour
    const [running] = await entries()
    expect(running).toMatchObject({ status: 'CONFIRMED', from: isoOf(startedAt) })
    expect(Date.parse(running!.to)).toBeGreaterThan(world.clock.now)
    await report()
    await world.pass(minute)
    await report()
    expect(await entries()).toEqual([])
  })

  test('has a cancelled event for a week, with a higher number', async () => {
    await report(event({ notBeforeAt: startAt + 5 * hour }))
    const [first] = await entries()
    for (let polls = 0; polls < 5; polls++) {
      await report()
      await world.pass(minute)
    }
    const [cancelled] = await entries()
    const summary = 'Cancelled: Reboot of web_0 (prod)'
    const { uid, from } = first!
    expect(cancelled).toMatchObject({ uid, status: 'CANCELLED', from, summary })
    expect(cancelled!.sequence).toBeGreaterThan(first!.sequence)
    world.clock.now += 6 * day
    expect(await entries()).toHaveLength(1)
    world.clock.now += day
    expect(await entries()).toEqual([])
  })

  test('names and texts from outside arrive as they are, and break no line', async () => {
    const resources = ['a,b;c\\d', 'x\r\nBEGIN:VALARM', `${'ü☃🚢'.repeat(20)}`]
    const description = 'One, two; three\nSTATUS:CANCELLED\\n 🚢'.repeat(9)
    await report(event({ resources, description, eventType: 'Odd,type' }))
    const text = await feed()
    for (const line of text.split('\r\n')) {
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75)
      expect(line).toBe(line.toWellFormed())
      expect(line).not.toMatch(/[\r\n]/)
    }
    expect(text.endsWith('END:VCALENDAR\r\n')).toBe(true)
    const [entry, ...others] = entriesIn(text)
    expect(others).toEqual([])
    expect(entry).toMatchObject({ status: 'TENTATIVE' })
    expect(entry!.summary).toContain('Odd,type of a,b;c\\d')
    expect(entry!.description).toContain('One, two; three')
    expect(text).not.toContain('BEGIN:VALARM\r\n')
  })

  test('has many events, in order, each once', async () => {
    const ids = [...Array(450).keys()].map((i) => `e${String(i).padStart(4, '0')}`)
    for (let from = 0; from < ids.length; from += 90) {
      const own = new FakeBeacon(world, `vm_${from}`)
      const events = ids.slice(from, from + 90).map((id, i) => {
        return event({ eventId: id, notBeforeAt: startAt + (from + i) * minute })
      })
      world.clock.now += 1
      await own.sees(events)
    }
    const found = await entries()
    expect(found.map(({ uid }) => uid.split('@')[0])).toEqual(ids)
  })

  test('an alert is no maintenance', async () => {
    await report(event())
    await world.pass(3 * hour)
    const all = await entries()
    expect(all.filter(({ uid }) => uid.startsWith('alert'))).toEqual([])
  })
})

function isoOf(at: number): string {
  return new Date(at).toISOString()
}

describe('its token', () => {
  test('opens nothing else', async () => {
    for (const path of ['/v1/events', '/v1/beacons', '/v1/tokens', '/v1/channels']) {
      expect((await askApi(world, token, path)).status).toBe(403)
    }
    expect((await askApi(world, token, '/calendar.ics')).status).toBe(401)
  })

  test('is the only credential that the address takes', async () => {
    const { token: reads } = await makeToken(world, { scopes: ['read'] })
    const { token: manages } = await makeToken(world, { scopes: ['manage'] })
    for (const other of [reads, manages, adminKey]) {
      const response = await get(other)
      expect([response.status, await codeOf(response)]).toEqual([403, 'calendar_only'])
    }
    for (const wrong of ['', 'wrong', `${token}0`]) expect((await get(wrong)).status).toBe(401)
    expect((await world.app.request('/calendar.ics')).status).toBe(401)
  })

  test('has no other scope beside it', async () => {
    const wish = { name: 'a', scopes: ['read', 'calendar'] }
    const response = await askApi(world, adminKey, '/v1/tokens', { method: 'POST', body: wish })
    expect([response.status, await codeOf(response)]).toEqual([400, 'token_malformed'])
  })

  test('can be made by a token that manages, for its own fleets', async () => {
    const wish = { scopes: ['manage'], fleets: ['test'] }
    const parent = await makeToken(world, wish)
    const child = await makeToken(world, { scopes: ['calendar'] }, parent.token)
    await report(event())
    expect(await entries(child.token)).toEqual([])
    expect(await entries()).toHaveLength(1)
  })

  test('stops to work when it is revoked', async () => {
    const { id, token: other } = await makeToken(world, { scopes: ['calendar'] })
    expect((await get(other)).status).toBe(200)
    await askApi(world, adminKey, `/v1/tokens/${id}`, { method: 'DELETE' })
    expect((await get(other)).status).toBe(401)
  })

  test('is in no log line and no error', async () => {
    const secret = token.slice(-20)
    const answers = [
      await get(token),
      await get(`${token}0`),
      await world.app.request(`/calendar.ics?token=${token}&${token}=1`),
      await world.app.request(`/calendar.ics?tokens=${token}`),
      await world.app.request(`/calendar.ics/${token}?token=${token}`),
      await world.app.request(`/calendar.ics?token=${token}`, { method: 'POST' }),
    ]
    for (const answer of answers) expect(await answer.text()).not.toContain(secret)
    world.store.listEvents = async () => {
      throw new Error('away')
    }
    world.clock.now += minute
    expect((await get(token)).status).toBe(500)
    expect(world.lines.join('\n')).not.toContain(secret)
  })
})

test('a name that looks like a link is none', async () => {
  await report(event({ resources: ['https://evil.example/x'], description: 'see evil.example' }))
  const [entry] = entriesIn(await feed())
  expect(`${entry!.summary} ${entry!.description}`).not.toContain('evil.example')
})
