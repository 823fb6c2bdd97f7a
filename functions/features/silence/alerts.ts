// What the alerts say that are about beacons.
import type { AlertTraits, FleetAlert, News } from '../../core/delivery/alert-kind.ts'
import { lastingClock } from '../../core/event/time.ts'
import {
  beginsAndEnds,
  fewNames,
  listed,
  manyNames,
  namesIn,
} from '../../core/message/alert-words.ts'

declare module '../../core/delivery/alert-kind.ts' {
  interface AlertKinds {
    beacons_silent: true
    beacons_missing: true
  }
}

const silent: AlertTraits = {
  text: beginsAndEnds({
    begun(news) {
      const { fleet, count, since, at, of, remaining } = news
      const time = lastingClock(since, at)
      const isAll = of !== undefined && of > 1 && remaining >= of
      const [these, each] =
        count === 1 ? ['this VM shows', 'the VM'] : ['these VMs show', 'each VM']
      return {
        title: isAll
          ? `No beacon of fleet "${fleet}" has reported since ${time}: ${namesIn(news)}`
          : `${beacons(count)} of fleet "${fleet}" ${count === 1 ? 'has' : 'have'} been silent since ${time}: ${namesIn(news)}`,
        lines: [
          ...(isAll ? ['Check first that VMs reach the relay.'] : []),
          `Foghorn does not see events that only ${these}, and cannot start them.`,
          `Check that ${each} runs. Then run "foghorn-beacon check" on it.`,
          ...(remaining > count ? [`In total, ${remaining} beacons of the fleet are silent.`] : []),
        ],
      }
    },
    over: (news) => ({
      title: overTitle(news, 'Back: ', 'again', (all) => `${all} left fleet "${news.fleet}"`),
      lines: [...leftLine(news, 'These VMs have left the fleet'), ...remainingLine(news, 'silent')],
    }),
  }),
  facts: vmsIn,
  page: ({ news }, fleet) =>
    `/beacons?${new URLSearchParams({ fleet, ...(news?.form === 'begun' && { state: 'silent' }) })}`,
  ends: 'noted',
}

const missing: AlertTraits = {
  text: beginsAndEnds({
    begun(news) {
      const { fleet, count, remaining, of = count } = news
      const found = news.names.length > 0 ? `: ${namesIn(news)}` : ''
      return {
        title: `${count} of ${of} expected beacons of fleet "${fleet}" never reported${found}`,
        lines: [
          `If only ${count === 1 ? 'this VM shows' : 'these VMs show'} an event, Foghorn notifies nobody.`,
          'Install the beacon there, or correct "expectedBeacons" in the configuration.',
          ...(remaining > count ? [`In total, ${remaining} beacons are missing.`] : []),
        ],
      }
    },
    over: (news) => ({
      title: overTitle(
        news,
        '',
        'for the first time',
        (all) => `Fleet "${news.fleet}" no longer expects ${all} to report`,
      ),
      lines: [
        ...leftLine(news, 'These VMs are no longer expected'),
        ...remainingLine(news, 'missing'),
      ],
    }),
  }),
  facts: vmsIn,
  page: (_, fleet) => `/beacons?${new URLSearchParams({ fleet })}`,
  ends: 'noted',
}

export const silenceAlerts = { beacons_silent: silent, beacons_missing: missing }

/** Examples for the schema of webhooks. */
export const silenceExamples = [
  {
    fleet: 'prod',
    kind: 'beacons_silent' as const,
    episode: 1,
    since: '2026-11-21T12:00:00.000Z',
    title: 'The beacon on web_3 in fleet prod is silent',
    lines: ['It was last heard at 12:00 UTC.'],
    vms: ['web_3'],
    reasons: [],
    form: 'begun' as const,
    count: 1,
    remaining: 1,
    left: [],
  },
]

function vmsIn({ names, news }: FleetAlert): { name: string; value: string }[] {
  const named = names.filter(Boolean)
  const count = (news?.count ?? 0) - (news?.left.length ?? 0)
  return named.length > fewNames ? [{ name: 'VMs', value: listed(named, count, manyNames) }] : []
}

/** `ifNone`: what became of all of them, if none reports. */
function overTitle(
  { fleet, count, left, names }: News,
  back: string,
  when: string,
  ifNone: (all: string) => string,
): string {
  const returned = count - left.length
  if (returned === 0) return ifNone(beacons(count))
  const found = names.length > 0 ? `: ${listed(names, returned, fewNames)}` : ''
  const reports = `report${returned === 1 ? 's' : ''}`
  return `${back}${beacons(returned)} of fleet "${fleet}" ${reports} ${when}${found}`
}

function beacons(count: number): string {
  return `${count} beacon${count === 1 ? '' : 's'}`
}

function leftLine({ left }: News, text: string): string[] {
  const named = left.filter(Boolean)
  return named.length === 0 ? [] : [`${text}: ${listed(named, left.length, manyNames)}.`]
}

function remainingLine({ remaining }: News, what: string): string[] {
  if (remaining === 0) return [`No beacon of the fleet is ${what} now.`]
  return [`${remaining} ${remaining === 1 ? 'is' : 'are'} still ${what}.`]
}
