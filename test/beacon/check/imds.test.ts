// What the check finds about IMDS: the api-version that works, and what to do without one.
import { expect, test } from 'vitest'
import { checkImds, describeVm } from '../../../beacon/check.ts'
import type { Failed, FailureClass, Poll } from '../../../beacon/imds.ts'
import type { ApiVersion } from '../../../shared/document.ts'
import type { Vm } from '../../../shared/report.ts'
import { createFakeClock } from '../fake-clock.ts'

const settings = { imdsUrl: 'http://imds' }
const signal = new AbortController().signal
const failed = (kind: FailureClass, status?: number): Failed => ({
  ...{ kind: 'failed', class: kind, reason: `IMDS answered ${status}` },
  ...(status === undefined ? {} : { status }),
})
const shows = (apiVersion: ApiVersion, unreadable = 0): Poll => ({
  ...{ kind: 'document', apiVersion },
  document: { events: [], unreadable: { count: unreadable, samples: [] }, oddities: [] },
})

/** Answers in turn; the last one again and again. */
async function check(...polls: Poll[]) {
  let asked = 0
  const imds = {
    poll: async () => polls[Math.min(asked++, polls.length - 1)]!,
    identify: async () => failed('transient'),
  }
  const slept: number[] = []
  const clock = { ...createFakeClock(), sleep: async (ms: number) => void slept.push(ms) }
  const [finding] = await checkImds({ imds, clock, settings }, signal)
  // a running beacon shares the limit of IMDS
  expect(slept).toEqual(Array(asked - 1).fill(1_000))
  return { asked, finding: finding! }
}

test('the version that answers', async () => {
  const { asked, finding } = await check(shows('2020-07-01', 2))
  expect(asked).toBe(1)
  expect(finding).toMatchObject({
    result: 'ok',
    text: 'http://imds answers, api-version 2020-07-01, 2 events now, 2 of them unreadable',
  })
})

test('an older version, after the newer ones were refused', async () => {
  const refused = Array(8).fill(failed('fallback', 400))
  const { asked, finding } = await check(...refused, shows('2019-08-01'))
  expect(asked).toBe(9)
  expect(finding.text).toContain('api-version 2019-08-01')
})

test('an IMDS that never accepts a version ends the check, too', async () => {
  const { asked, finding } = await check(failed('fallback', 400))
  expect(asked).toBe(50)
  expect(finding.result).toBe('fix')
})

test.each<[Failed, RegExp]>([
  [failed('absent', 404), /Azure VM/],
  [failed('throttled', 429), /too often/],
  [failed('updating', 410), /again/],
  [failed('transient', 503), /again/],
  [failed('transient'), /firewall/],
])('%o', async (poll, remedy) => {
  const { asked, finding } = await check(poll)
  expect(asked).toBe(1)
  expect(finding).toMatchObject({ result: 'fix', text: expect.stringMatching(remedy) })
})

test('the VM, as IMDS describes it', () => {
  const vm = { name: 'web_0', resourceGroup: 'rg-web', scaleSet: '' } as Vm
  expect(describeVm({ kind: 'vm', vm })).toMatchObject([
    { result: 'ok', text: 'web_0, resource group rg-web, no scale set' },
    {
      result: 'ok',
      command: expect.stringContaining('az vm update -g rg-web -n web_0 --enable-user'),
    },
  ])
  const ofSet = describeVm({ kind: 'vm', vm: { ...vm, scaleSet: 'web' } })
  expect(ofSet[1]?.command).toContain(
    `az vmss update -g rg-web -n web --set 'scheduledEventsPolicy={"userInitiatedReboot":{"automatically`,
  )
  expect(describeVm(failed('transient', 500))).toMatchObject([
    { result: 'skip' },
    { result: 'skip' },
  ])
})
