// Many reads of one asker delay neither reports nor others, and nobody makes the relay send without end.
import { beforeEach, describe, expect, test } from 'vitest'
import { createApp } from '../../functions/app.ts'
import type { Access } from '../../functions/core/rules/access.ts'
import { createDoor } from '../../functions/http/door.ts'
import { createListToken, createToken } from '../../functions/links/link.ts'
import { asAdmin } from '../support/console.ts'
import { fieldsOf, formsOf } from '../support/form.ts'
import { startRelay, world } from '../support/relay.ts'
import { askApi, makeToken } from '../support/tokens.ts'
import { adminKey, event, eventId, FakeBeacon, testKey } from '../support/world.ts'

const token = (id: string): Access => ({ by: 'token', id, name: id, scopes: ['read'] })

describe('the door', () => {
  /** Requests that end when the test says so, in the order in which they were let in. */
  function begin() {
    const inside: { who: string; end: () => void }[] = []
    const door = createDoor({ pause: async () => {}, readPlaces: 4 })
    const come = (who: string) =>
      door.pass(
        token(who),
        () => new Promise<string>((end) => inside.push({ who, end: () => end(who) })),
      )
    const settle = () => new Promise((resolve) => setImmediate(resolve))
    return { inside, come, settle }
  }

  test('lets four in at a time, and the askers take turns', async () => {
    const { inside, come, settle } = begin()
    for (let i = 0; i < 7; i++) void come('a')
    for (let i = 0; i < 2; i++) void come('b')
    await settle()
    expect(inside.map(({ who }) => who)).toEqual(['a', 'a', 'a', 'a'])
    for (let i = 0; i < 9; i++) {
      inside[i]!.end()
      await settle()
    }
    expect(inside.map(({ who }) => who).slice(4)).toEqual(['a', 'b', 'a', 'b', 'a'])
  })

  test('gets the place back from a request that failed', async () => {
    const door = createDoor({ pause: async () => {}, readPlaces: 4 })
    const failing = () => door.pass(token('a'), () => Promise.reject(new Error('broken')))
    for (let i = 0; i < 9; i++) await expect(failing()).rejects.toThrow('broken')
    expect(await door.pass(token('a'), async () => 'in')).toBe('in')
  })

  test('tokens that one token has made are one asker, and take turns among themselves', async () => {
    const order: string[] = []
    const door = createDoor({ pause: async () => {}, readPlaces: 1 })
    const made = (id: string, first?: string): Access => ({ ...token(id), first }) as Access
    const come = (access: Access, name: string) =>
      door.pass(access, async () => {
        await new Promise((resolve) => setImmediate(resolve))
        order.push(name)
      })
    const all = [1, 2, 3, 4].flatMap((n) => [
      come(made(`t${n}`, 'maker'), `t${n}`),
      come(made(`t${n}`, 'maker'), `t${n}`),
    ])
    all.push(come(token('other'), 'other'), come(token('other'), 'other'))
    await Promise.all(all)
    expect(order).toEqual(['t1', 't1', 'other', 't2', 'other', 't3', 't4', 't2', 't3', 't4'])
  })

  test('lets 100 of one asker wait, and refuses further ones', async () => {
    const { come, settle } = begin()
    for (let i = 0; i < 104; i++) void come('a')
    await settle()
    expect(await come('a')).toBe('full')
    const other = come('b')
    await settle()
    expect(await Promise.race([other, 'waits'])).toBe('waits')
  })
})

describe('a relay', () => {
  beforeEach(() => startRelay())

  /** The first requests take all places of their door, and keep them. */
  function fillPlaces() {
    const { promise: closed, resolve: open } = Promise.withResolvers<void>()
    const places = { held: 0, open }
    world.relay.host.pause = async () => {
      if (places.held === world.relay.host.readPlaces) return
      places.held += 1
      await closed
    }
    world.app = createApp(world.relay)
    return places
  }

  const list = (key: string) => askApi(world, key, '/v1/events')

  test('answers reports and decisions while reads are refused', async () => {
    const key = (await makeToken(world, {})).token
    const { open } = fillPlaces()
    const reads = Array.from({ length: 104 + 1 }, () => list(key))
    // the others wait
    const refused = await Promise.race(reads)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    const { directives } = await new FakeBeacon(world, 'web_0').sees([event()])
    expect(directives).toEqual([])
    const path = `/v1/events/prod/${eventId}/decision`
    const body = { decision: 'approve' }
    expect((await askApi(world, adminKey, path, { method: 'POST', body })).status).toBe(200)
    open()
    const statuses = (await Promise.all(reads)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(104)
  })

  test('answers reports, other links and decisions while pages of a list wait', async () => {
    const { linkKeys } = world.relay.credentials
    await new FakeBeacon(world, 'web_0').sees([event()])
    const events = Array.from({ length: 20 }, () => ({ fleet: 'prod', eventId }))
    const made = { channel: 'chat', issuedAt: world.clock.now }
    const ofAll = `/approve/${await createListToken(linkKeys, { ...made, events })}`
    const ofOne = `/approve/${await createToken(linkKeys, { ...made, fleet: 'prod', eventId })}`
    const places = fillPlaces()
    const pages = Array.from({ length: 60 }, () => world.app.request(ofAll))
    await new FakeBeacon(world, 'web_1').sees([event()])
    await expect.poll(() => places.held).toBe(world.relay.host.readPlaces)
    expect((await world.app.request(ofOne)).status).toBe(200)
    expect(await Promise.race([...pages, 'none is answered'])).toBe('none is answered')
    places.open()
    expect((await pages[0]!).status).toBe(200)
  })

  test('answers the page of another fleet while holders of many links look at pages', async () => {
    const { linkKeys } = world.relay.credentials
    const ids = Array.from({ length: 60 }, (_, i) => `event-${i}`)
    await new FakeBeacon(world, 'web_0').sees(ids.map((id) => event({ eventId: id })))
    await new FakeBeacon(world, 'web_1', { fleet: 'test', key: testKey }).sees([event()])
    const made = { channel: 'chat', issuedAt: world.clock.now }
    const linkTo = async (fleet: string, id: string) =>
      `/approve/${await createToken(linkKeys, { ...made, fleet, eventId: id })}`
    const flood = await Promise.all(ids.map((id) => linkTo('prod', id)))
    const other = await linkTo('test', eventId)
    const answered: string[] = []
    world.relay.host.readPlaces = 1
    world.relay.host.pause = () => new Promise((resolve) => setImmediate(resolve))
    world.app = createApp(world.relay)
    const look = async (path: string) => {
      expect((await world.app.request(path)).status).toBe(200)
      answered.push(path)
    }
    const all = flood.map(look)
    await Promise.race(all)
    await look(other)
    expect(answered.indexOf(other)).toBeLessThan(30)
    await Promise.all(all)
  })

  test.each(['/console', `/console/events/prod/${eventId}`])(
    'stores what was pressed at %s while lists keep all places',
    async (path) => {
      await new FakeBeacon(world, 'web_0').sees([event()])
      const key = (await makeToken(world, {})).token
      const visit = await asAdmin(world)
      const form = formsOf(await (await visit.get(path)).text()).find((one) => one.event)!
      const places = fillPlaces()
      const reads = Array.from({ length: 4 }, () => list(key))
      await expect.poll(() => places.held).toBe(world.relay.host.readPlaces)
      const pressed = visit.post(path, { ...form, decision: 'approve' })
      const approved = async () =>
        (await world.store.readEvent({ fleet: 'prod', eventId }))?.decided
      await expect.poll(approved).toMatchObject({ decision: 'approved' })
      places.open()
      expect((await pressed).status).toBe(200)
      await Promise.all(reads)
    },
  )

  test('takes the decision of another fleet while holders of many links press without end', async () => {
    const { linkKeys } = world.relay.credentials
    const ids = Array.from({ length: 60 }, (_, i) => `event-${i}`)
    await new FakeBeacon(world, 'web_0').sees(ids.map((id) => event({ eventId: id })))
    await new FakeBeacon(world, 'web_1', { fleet: 'test', key: testKey }).sees([event()])
    world.relay.host.readPlaces = 1
    world.relay.host.pause = () => new Promise((resolve) => setImmediate(resolve))
    world.app = createApp(world.relay)
    const fetch = (path: string, init?: RequestInit) => world.app.request(path, init)
    const open = async (fleet: string, id: string) => {
      const made = { channel: 'chat', issuedAt: world.clock.now, fleet, eventId: id }
      const path = `/approve/${await createToken(linkKeys, made)}`
      return { path, fields: fieldsOf(await (await fetch(path)).text()) }
    }
    const flood = await Promise.all(ids.map((id) => open('prod', id)))
    const other = await open('test', eventId)
    const done: string[] = []
    const press = async ({ path, fields }: typeof other, decision: string) => {
      const body = new URLSearchParams({ ...fields, decision })
      expect((await fetch(path, { method: 'POST', body })).status).toBe(200)
      done.push(path)
    }
    const byToken = async (key: string) => {
      const path = `/v1/events/prod/${ids[0]}/decision`
      const body = { decision: 'take' }
      expect((await askApi(world, key, path, { method: 'POST', body })).status).toBe(200)
      done.push(key)
    }
    const key = (await makeToken(world, { scopes: ['decide'] })).token
    const all = [...flood.map((one) => press(one, 'take')), ...ids.map(() => byToken(key))]
    await Promise.race(all)
    await press(other, 'approve')
    expect(done.indexOf(other.path)).toBeLessThan(10)
    await Promise.all(all)
  })

  test('starts 6 drills of one asker in 10 minutes at most', async () => {
    const body = { fleet: 'prod', type: 'Freeze' }
    const start = () => askApi(world, adminKey, '/v1/drills', { method: 'POST', body })
    const codes: unknown[] = []
    for (let i = 0; i < 7; i++) {
      codes.push(((await (await start()).json()) as { code?: string }).code)
      for (let seconds = 0; seconds < 60; seconds += 10) await world.pass(10_000)
    }
    expect(codes.filter((code) => code === undefined)).toHaveLength(6)
    expect(codes.at(-1)).toBe('too_many_requests')
  })
})
