// The texts of alerts to owners: what is wrong, what follows from it, and what to do.
import type { AbsenceKind, AbsenceNews, Alert } from '../event/alert-row.ts'
import { maxOpenOfBeacon, maxOpenOfFleet } from '../event/share.ts'
import { lastingClock } from '../event/time.ts'

interface AlertText {
  title: string
  lines: string[]
}

type News = AbsenceNews & { vms: string[]; fleet: string; at: number }

/** Names in a title, and in a fact. */
const [fewNames, manyNames] = [3, 10]

/** `at` is when the alert was planned, so a retry says the same. */
export function alertText(fleet: string, alert: Alert, at: number): AlertText {
  const { kind, news, vms, reasons } = alert
  if (kind === 'over_limits') return overLimits(fleet, reasons)
  if (kind === 'subscription_disabled') return subscriptionDisabled(reasons)
  if (news === undefined) throw new Error(`an alert of kind ${kind} has no news`)
  return absences[kind][news.form]({ ...news, vms: vms.filter(Boolean), fleet, at })
}

export function alertFacts({ kind, vms, news }: Alert): { name: string; value: string }[] {
  const limits = `${maxOpenOfBeacon} open events that one beacon alone reports, ${maxOpenOfFleet} in a fleet`
  if (kind === 'over_limits') {
    return [
      { name: 'Reported by', value: vms.join(', ') },
      { name: 'Limits', value: limits },
    ]
  }
  if (kind === 'subscription_disabled') return [{ name: 'Subscriptions', value: vms.join(', ') }]
  const named = vms.filter(Boolean)
  const count = (news?.count ?? 0) - (news?.left.length ?? 0)
  return named.length > fewNames ? [{ name: 'VMs', value: listed(named, count, manyNames) }] : []
}

/** Whether the alert says that its cause is over. */
export function isGoodNews({ news }: Alert): boolean {
  return news?.form === 'over'
}

function overLimits(fleet: string, reasons: string[]): AlertText {
  return {
    title: `Fleet "${fleet}" is over its limits: the relay refuses events`,
    lines: [
      `${reasons.map((reason) => `${reason[0]?.toUpperCase()}${reason.slice(1)}.`).join(' ')}`,
      'The relay stores no new events of these reports, and nobody is notified of them.',
      'Check these VMs. If you do not know them, replace the key of the fleet.',
    ],
  }
}

function subscriptionDisabled(reasons: string[]): AlertText {
  const [title] =
    reasons.length === 1 ? ['A subscription was disabled'] : ['Subscriptions were disabled']
  return {
    title: `${title}: ${reasons[0]}`,
    lines: [
      ...reasons.slice(1).map((reason) => `Also: ${reason}.`),
      'The relay keeps its messages, and does not send them.',
      'Repair the endpoint, resume the subscription, then replay what it missed.',
    ],
  }
}

const absences: Record<AbsenceKind, Record<AbsenceNews['form'], (news: News) => AlertText>> = {
  beacons_silent: {
    absent: (news) => {
      const { fleet, count, since, at, of, remaining } = news
      const time = lastingClock(since, at)
      const isAll = of !== undefined && of > 1 && remaining >= of
      const [these, each] =
        count === 1 ? ['this VM shows', 'the VM'] : ['these VMs show', 'each VM']
      return {
        title: `${beacons(count)} of fleet "${fleet}" silent since ${time}: ${names(news)}`,
        lines: [
          ...(isAll
            ? ['No beacon of the fleet reports. Check first that VMs reach the relay.']
            : []),
          `Foghorn does not see events that only ${these}, and cannot start them.`,
          `Check that ${each} runs, then its beacon. See "A VM is silent" in docs/when-things-fail.md.`,
          ...(remaining > count ? [`${remaining} beacons of the fleet are silent in all.`] : []),
        ],
      }
    },
    over: (news) => ({
      title: overTitle(news, 'Back: ', 'again'),
      lines: [...leftLine(news, 'These VMs have left the fleet'), ...remainingLine(news, 'silent')],
    }),
  },
  beacons_missing: {
    absent: (news) => {
      const { fleet, count, remaining, of = count } = news
      const found = news.vms.length > 0 ? `: ${names(news)}` : ''
      return {
        title: `${count} of ${of} expected beacons of fleet "${fleet}" never reported${found}`,
        lines: [
          'Nobody is notified of events that only their VMs show.',
          'Install the beacon there, or correct "expectedBeacons" in the configuration.',
          ...(remaining > count ? [`${remaining} beacons are missing in all.`] : []),
        ],
      }
    },
    over: (news) => ({
      title: overTitle(news, '', 'for the first time'),
      lines: [
        ...leftLine(news, 'These VMs are no longer expected'),
        ...remainingLine(news, 'missing'),
      ],
    }),
  },
}

function overTitle({ fleet, count, left, vms }: News, back: string, when: string): string {
  const returned = count - left.length
  if (returned === 0) return `${beacons(count)} of fleet "${fleet}" no longer expected to report`
  const found = vms.length > 0 ? `: ${listed(vms, returned, fewNames)}` : ''
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

function names({ vms, count }: News): string {
  return listed(vms, count, fewNames)
}

/** `web_0, web_1 and 9 more`: `count` is how many there are, of which `vms` has the first. */
function listed(vms: string[], count: number, most: number): string {
  const shown = vms.slice(0, count <= most + 1 ? most + 1 : most)
  const more = count - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
