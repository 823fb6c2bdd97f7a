// Which api-version the beacon asks for: the newest that this cloud answers. Bursts of 400 of any
// length must not change that for long. Also what the relay learns of it.
import { describe, expect, test } from 'vitest'
import { type ApiVersion, apiVersions, previewVersion } from '../../shared/document.ts'
import { accepted, startBeacon } from './agent-world.ts'
import { type Request, withoutNetwork } from './fake-imds.ts'

const second = 1_000
const minute = 60 * second
const newest = apiVersions[0]
const refused = { status: 400 }

/** The document of a cloud with one event, in a version. */
function shownIn(version: string) {
  const event = {
    ...{ EventId: 'E1', EventType: 'Reboot', EventStatus: 'Scheduled', Resources: ['vm1'] },
    ...(version >= '2019-04-01' && { Description: 'Restart' }),
    ...(version >= '2019-08-01' && { EventSource: 'User' }),
    ...(version >= '2020-07-01' && { DurationInSeconds: 9 }),
  }
  return { body: JSON.stringify({ DocumentIncarnation: 1, Events: [event] }) }
}

/** A beacon whose IMDS answers as `answer` does. Time stands still until `clock.advance`. */
function start(
  answer: Parameters<typeof withoutNetwork>[0],
  { pollMs = second, paceMs = 5 * second, isRolledOut = (_at: number): boolean => false } = {},
) {
  const { requests, imdsOf } = withoutNetwork((request) =>
    request.endpoint === 'instance'
      ? {}
      : request.version === previewVersion && !isRolledOut(request.at)
        ? { status: 404 }
        : answer(request),
  )
  const beacon = startBeacon({ reply: () => accepted({ paceMs }) }, { pollMs }, imdsOf)
  const asked = () => requests.filter(({ endpoint }) => endpoint === 'scheduledevents')
  const polls = () => asked().filter(({ version }) => version !== previewVersion)
  const versionsSince = (at: number) =>
    polls().flatMap((poll) => (poll.at >= at ? [poll.version] : []))
  const changes = () => beacon.reports.flatMap(({ report }) => report.changes)
  return { ...beacon, asked, polls, versionsSince, changes }
}

/** Refuses every version from `from` to `until`. */
const burst = (from: number, until: number) => (request: Request) =>
  request.at >= from && request.at < until ? refused : shownIn(request.version)

describe('a burst of 400', () => {
  const lengths = [1, 3, 6, 8, 15, 31, 60, 120]
  const cases = lengths.flatMap((length) => [0.5, 1, 2, 5].map((poll) => [length, poll] as const))

  test.each(cases)(
    'of %s s, polled each %s s, is forgotten soon after it',
    async (length, pollSeconds) => {
      const from = 10 * second
      const until = from + length * second
      const answer = burst(from, until)
      const { clock, versionsSince, changes, lastReport } = start(answer, {
        pollMs: pollSeconds * second,
      })
      // after all versions were refused, a beacon asks only every 60 s
      await clock.advance(until + 62 * second + 2 * pollSeconds * second)
      const end = clock.monotonic()
      await clock.advance(30 * second)
      expect(new Set(versionsSince(end))).toEqual(new Set([newest]))
      expect(lastReport()?.document).toMatchObject({
        apiVersion: newest,
        events: [{ source: 'User', durationSeconds: 9 }],
      })
      expect(changes().map(({ kind }) => kind)).toEqual(['appeared'])
    },
  )

  test.each([1, 2, 3, 4])('of %s s leaves no version', async (seconds) => {
    const { clock, versionsSince, log } = start(burst(10 * second, (10 + seconds) * second))
    await clock.advance(minute)
    expect(new Set(versionsSince(0))).toEqual(new Set([newest]))
    expect(log.named('imds_version_refused')).toEqual([])
  })

  test('of two answers leaves no version, however far apart they are', async () => {
    const answer = burst(10 * second, 19 * second)
    const { clock, versionsSince } = start(answer, { pollMs: 5 * second })
    await clock.advance(minute)
    expect(new Set(versionsSince(0))).toEqual(new Set([newest]))
  })

  test('at the start delays the first document only', async () => {
    const { clock, lastReport } = start(burst(0, 15 * second))
    await clock.advance(20 * second)
    expect(lastReport()?.document).toMatchObject({ apiVersion: newest })
  })

  test.each([200, 500] as const)(
    'of which each second answer is %s leaves no version for good',
    async (status) => {
      let count = 0
      const { clock, versionsSince } = start((request) => {
        if (request.at < 10 * second || request.at > 60 * second) return shownIn(request.version)
        count += 1
        return count % 2 === 0 ? refused : status === 200 ? shownIn(request.version) : { status }
      })
      await clock.advance(60 * second)
      if (status === 200) expect(new Set(versionsSince(0))).toEqual(new Set([newest]))
      await clock.advance(30 * second)
      const end = clock.monotonic()
      await clock.advance(30 * second)
      expect(new Set(versionsSince(end))).toEqual(new Set([newest]))
    },
  )
})

describe('a cloud that knows no more than an older version', () => {
  const knowing =
    (known: ApiVersion) =>
    ({ version }: Request) =>
      version <= known ? shownIn(version) : refused

  test.each(apiVersions.slice(1))(
    '%s: reaches it within half a minute, and stays',
    async (known) => {
      const { clock, lastReport, log } = start(knowing(known))
      await clock.advance(37 * second)
      expect(lastReport()?.document).toMatchObject({ apiVersion: known })
      await clock.advance(21 * minute)
      const reported = new Set(apiVersions.slice(0, apiVersions.indexOf(known)))
      expect(log.named('imds_version_refused')).toHaveLength(reported.size)
      expect(log.named('imds_failing')).toEqual([])
      expect(lastReport()?.document).toMatchObject({ apiVersion: known })
      expect(lastReport()?.document?.ageMs).toBeLessThan(2 * second)
    },
  )

  test('a version is left after three 400s in 5 s, and not before', async () => {
    const { clock, polls } = start(knowing('2019-08-01'))
    await clock.advance(5 * second)
    expect(polls().map(({ version }) => version)).toEqual(Array(5).fill(newest))
    await clock.advance(2 * second)
    expect(
      polls()
        .map(({ version }) => version)
        .slice(5, 7),
    ).toEqual([newest, '2019-08-01'])
  })

  test('is asked for the newest again at once, after 10, 30 and 60 s, then every 10 min', async () => {
    const { clock, polls } = start(knowing('2019-08-01'))
    await clock.advance(41 * minute)
    const since = polls().find(({ version }) => version === '2019-08-01')!.at
    const probes = polls().filter(({ version, at }) => version === newest && at > since)
    const seconds = probes.map(({ at }) => Math.floor((at - since) / second))
    expect(seconds).toEqual([0, 10, 30, 60, 660, 1_260, 1_860])
    // not one poll was lost to the probes
    const others = polls().filter(({ version, at }) => version !== newest && at >= since)
    expect(others.length).toBeGreaterThanOrEqual(Math.floor((41 * minute - since) / second))
  })

  test('comes back to it from a burst that led further down', async () => {
    const cloud = knowing('2019-08-01')
    const { clock, lastReport } = start((request) =>
      request.at > 20 * second && request.at < 40 * second ? refused : cloud(request),
    )
    await clock.advance(2 * minute)
    expect(lastReport()?.document).toMatchObject({ apiVersion: '2019-08-01' })
  })

  test('that learns a newer one is asked for it within 10 min', async () => {
    const { clock, lastReport, log, changes } = start((request) =>
      request.at < 30 * minute ? knowing('2019-01-01')(request) : shownIn(request.version),
    )
    await clock.advance(42 * minute)
    expect(lastReport()?.document).toMatchObject({
      apiVersion: newest,
      events: [{ source: 'User', durationSeconds: 9, description: 'Restart' }],
    })
    expect(log.named('imds_version_restored')).toMatchObject([{ apiVersion: newest }])
    // a value that became visible is no change
    expect(changes().map(({ kind }) => kind)).toEqual(['appeared'])
  })

  test('polls on while a request for a newer version hangs', async () => {
    const { clock, polls } = start((request) => {
      if (request.version !== newest) return shownIn(request.version)
      return request.at < 10 * second ? refused : { ...refused, delayMs: 10 * second }
    })
    await clock.advance(minute)
    const times = polls().flatMap(({ version, at }) => (version === newest ? [] : [at]))
    const gaps = times.map((at, i) => at - (times[i - 1] ?? at))
    expect(times.length).toBeGreaterThan(50)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(second)
  })
})

test('a value that becomes visible is reported within 2 s, without a change', async () => {
  const known = (request: Request) =>
    request.version === newest && request.at < 20 * second ? refused : shownIn(request.version)
  const { clock, reports } = start(known, { paceMs: 60 * minute })
  await clock.advance(15 * second)
  const before = reports.length
  await clock.advance(30 * second)
  const [first] = reports.slice(before)
  expect(first?.report.document).toMatchObject({ events: [{ durationSeconds: 9 }] })
  expect(first?.report.changes).toEqual([])
})

test('refused in every version, it asks slowly and logs that once', async () => {
  const { clock, polls, log } = start(() => refused)
  await clock.advance(minute)
  expect(log.named('imds_version_refused')).toHaveLength(apiVersions.length)
  expect(log.named('imds_failing')).toHaveLength(1)
  const before = polls().length
  await clock.advance(60 * minute)
  expect(polls().length - before).toBeLessThan(130)
  expect(log.named('imds_version_refused')).toHaveLength(apiVersions.length)
})

describe('the preview', () => {
  const previews = (asked: Request[]) => asked.filter(({ version }) => version === previewVersion)

  test('is asked for beside the polls, once in 10 min, and its 404 means nothing', async () => {
    const { clock, asked, polls, lastReport, log } = start(({ version }) => shownIn(version))
    await clock.advance(25 * minute)
    const minutes = previews(asked()).map(({ at }) => Math.floor(at / minute))
    expect(minutes).toEqual([0, 10, 20])
    expect(polls().length).toBeGreaterThan(1_490)
    expect(lastReport()?.document).toMatchObject({ apiVersion: newest })
    expect(log.named('imds_version_refused')).toEqual([])
    expect(log.named('imds_failing')).toEqual([])
  })

  test('is polled where it is rolled out, and left when it is taken back', async () => {
    const isRolledOut = (at: number) => at < 5 * minute
    const { clock, lastReport, changes, log } = start(({ version }) => shownIn(version), {
      isRolledOut,
    })
    await clock.advance(minute)
    expect(lastReport()?.document).toMatchObject({ apiVersion: previewVersion })
    await clock.advance(5 * minute)
    expect(lastReport()?.document).toMatchObject({ apiVersion: newest })
    expect(changes().map(({ kind }) => kind)).toEqual(['appeared'])
    expect(log.named('imds_failing')).toEqual([])
  })
})
