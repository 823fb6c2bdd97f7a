// The requests of a whole beacon to IMDS, which grants a VM 5 a second. The beacon sends at most
// 4, even if it must start many events, and none while IMDS asks it to wait.
import { describe, expect, test } from 'vitest'
import { TokenCredential } from '../../beacon/credential.ts'
import { accepted, aDirective, startBeacon } from './agent-world.ts'
import { type Request, withoutNetwork } from './fake-imds.ts'

const second = 1_000
const ids = Array.from({ length: 20 }, (_, i) => `e${i}`)

/** All events. Those of `frozen` have another type than the rest. */
function documentWith(frozen: string[] = []) {
  const Events = ids.map((EventId) => {
    const EventType = frozen.includes(EventId) ? 'Freeze' : 'Reboot'
    return { EventId, EventType, EventStatus: 'Scheduled', Resources: ['vm1'] }
  })
  return { body: JSON.stringify({ DocumentIncarnation: 1, Events }) }
}

const document = documentWith()

type Answer = Parameters<typeof withoutNetwork>[0]
const shown: Answer = ({ endpoint, method }) =>
  endpoint === 'instance' || method === 'POST' ? {} : document

/** Counts as Azure does. Other agents send `others` requests a second. */
function throttling(answer: Answer, others = 0) {
  const times: number[] = []
  let throttled = 0
  const granting: Answer = (request) => {
    const { at } = request
    times.push(at)
    const last = times.filter((time) => at - time < second).length
    if (last + others <= 5) return answer(request)
    throttled += 1
    return { status: 429, headers: { 'retry-after': '1' } }
  }
  return { granting, throttled: () => throttled }
}

/** A beacon that receives directives for all events after 5 s. */
async function starting(answer: Answer) {
  const { requests, imdsOf } = withoutNetwork(answer)
  const beacon = startBeacon({ reply: () => accepted({ paceMs: 2 * second }) }, {}, imdsOf)
  const { clock, world, reports } = beacon
  await clock.advance(5 * second)
  world.reply = () => {
    world.reply = () => accepted({ paceMs: 2 * second })
    return accepted({ directives: ids.map((eventId) => aDirective({ eventId })) })
  }
  const posts = () => requests.filter(({ method }) => method === 'POST')
  const outcomes = () => {
    const starts = reports.flatMap(({ report }) => report.starts)
    return new Map(starts.map(({ eventId, outcome }) => [eventId, outcome]))
  }
  const startedAt = () => reports.findLast(({ report }) => report.starts.length > 0)?.at ?? 0
  return { ...beacon, requests, posts, outcomes, startedAt }
}

const allAccepted = new Map(ids.map((id) => [id, 'accepted']))

/** The largest number of requests in any second. */
function mostInASecond(requests: readonly Request[]): number {
  const times = requests.map(({ at }) => at)
  return Math.max(
    ...times.map((from) => times.filter((at) => at >= from && at <= from + second).length),
  )
}

const pollsOf = (requests: readonly Request[]) =>
  requests.filter(({ endpoint, method }) => endpoint === 'scheduledevents' && method === 'GET')

function longestGap(requests: readonly Request[]): number {
  const times = pollsOf(requests).map(({ at }) => at)
  return Math.max(...times.map((at, i) => at - (times[i - 1] ?? at)))
}

describe('20 events that are approved at once', () => {
  test('are started in a second by one request, within the budget', async () => {
    const { granting, throttled } = throttling(shown)
    const { clock, requests, posts, outcomes, startedAt } = await starting(granting)
    await clock.advance(10 * second)
    expect(posts().map(({ eventIds }) => eventIds)).toEqual([ids])
    expect(outcomes()).toEqual(allAccepted)
    expect(startedAt()).toBeLessThan(8 * second)
    expect(throttled()).toBe(0)
    expect(mostInASecond(requests)).toBeLessThanOrEqual(4)
  })

  test('are started one by one where IMDS does not know one, within the budget', async () => {
    const { granting, throttled } = throttling((request) =>
      request.eventIds.includes('e7') ? { status: 400 } : shown(request),
    )
    const { clock, requests, posts, outcomes } = await starting(granting)
    await clock.advance(15 * second)
    expect(outcomes()).toEqual(new Map([...allAccepted, ['e7', 'rejected']]))
    expect(posts()).toHaveLength(21)
    expect(throttled()).toBe(0)
    expect(mostInASecond(requests)).toBe(4)
    expect(longestGap(requests)).toBeLessThan(1.1 * second)
  })

  test('are not started one by one once they are others', async () => {
    const { clock, posts, outcomes } = await starting((request) => {
      if (request.eventIds.length > 1) return { status: 400 }
      const isLater = request.method === 'GET' && request.at > 7 * second
      return isLater ? documentWith(['e18', 'e19']) : shown(request)
    })
    await clock.advance(15 * second)
    const others = { e18: 'not_as_approved', e19: 'not_as_approved' }
    expect(outcomes()).toEqual(new Map([...allAccepted, ...Object.entries(others)]))
    const alone = posts().filter(({ eventIds }) => eventIds.length === 1)
    expect(alone.flatMap(({ eventIds }) => eventIds)).toEqual(ids.slice(0, 18))
  })

  test('are started in the end where other agents use up the budget for a while', async () => {
    let others = 5
    const { granting } = throttling(shown)
    const { clock, outcomes } = await starting((request) => {
      if (request.method === 'POST' && others-- > 0) return { status: 429 }
      return granting(request)
    })
    await clock.advance(15 * second)
    expect(outcomes()).toEqual(allAccepted)
  })
})

describe('Retry-After', () => {
  test.each([
    [429, 'scheduledevents'],
    [503, 'scheduledevents'],
    [429, 'instance'],
    [503, 'instance'],
  ])('with %i from %s stops every request for that time', async (status, endpoint) => {
    const from = 5 * second
    const { requests, imdsOf } = withoutNetwork((request) =>
      request.at >= from && request.at < 10 * second && request.endpoint === endpoint
        ? { status, headers: { 'retry-after': '7' } }
        : shown(request),
    )
    const world = {
      reply: () => accepted({ paceMs: 500, directives: [aDirective({ eventId: 'e1' })] }),
    }
    const { clock } = startBeacon(world, {}, (clock, log) => {
      const imds = imdsOf(clock, log)
      // another request, which asks for the VM's identity, at the time of the trouble
      void clock.sleep(from, forever).then(() => imds.identify(forever))
      return imds
    })
    await clock.advance(30 * second)
    const refusedAt = requests.find(
      ({ at, endpoint: asked }) => at >= from && asked === endpoint,
    )!.at
    const next = requests.find(({ at }) => at > refusedAt + 5)!.at
    expect(next - refusedAt).toBeGreaterThanOrEqual(7 * second)
    expect(next - refusedAt).toBeLessThan(9 * second)
  })
})

test('tokens count as well', async () => {
  const { requests, imdsOf } = withoutNetwork((request) =>
    request.endpoint === 'token' ? { status: 500 } : shown(request),
  )
  const { clock } = startBeacon({}, {}, (clock, log) => {
    const source = imdsOf(clock, log)
    const parts = { audience: 'api://foghorn', clientId: undefined, clock, log, random: () => 0 }
    const credentials = Array.from({ length: 5 }, () => new TokenCredential({ source, ...parts }))
    const ask = async () => {
      for (;;) {
        await Promise.all(credentials.map((credential) => credential.ready(forever)))
        await clock.sleep(100, forever)
      }
    }
    void ask()
    return source
  })
  await clock.advance(20 * second)
  expect(requests.some(({ endpoint }) => endpoint === 'token')).toBe(true)
  expect(mostInASecond(requests)).toBeLessThanOrEqual(4)
  expect(longestGap(requests)).toBeLessThan(1.1 * second)
})

const forever = new AbortController().signal

test('a directive that IMDS throttles before any request names it counts as rejected', async () => {
  const asksToWait: Answer = (request) =>
    request.endpoint !== 'instance' && request.method === 'GET' && request.at >= 5 * second
      ? { status: 429, headers: { 'retry-after': '30' } }
      : shown(request)
  const { clock, posts, outcomes } = await starting(asksToWait)
  await clock.advance(60 * second)
  expect(posts()).toEqual([])
  expect(new Set(outcomes().values())).toEqual(new Set(['rejected']))
})
