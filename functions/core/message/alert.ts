// The texts of alerts to owners: what is wrong, what follows from it, and what to do.

import { quietMs } from '../delivery/alert.ts'
import { steadyMs } from '../delivery/own-trouble.ts'
import type { Alert, BeaconAlertKind, LastingNews, TroubleKind } from '../event/alert-row.ts'
import { maxBeaconsOfFleet, maxOpenOfBeacon, maxOpenOfFleet } from '../event/open-limits.ts'
import { lastingClock, span } from '../event/time.ts'

interface AlertText {
  title: string
  lines: string[]
}

type News = LastingNews & { vms: string[]; fleet: string; at: number }

/** Names in a title, and in a fact. */
const [fewNames, manyNames] = [3, 10]

/** `at` is when the alert was planned, so a retry says the same. */
export function alertText(fleet: string, alert: Alert, at: number): AlertText {
  const { kind, news, vms, reasons } = alert
  if (kind === 'over_limits') return overLimits(fleet, reasons, news)
  if (kind === 'subscription_disabled') return subscriptionDisabled(vms, reasons)
  if (kind === 'channel_test') return channelTest(vms, reasons)
  if (news === undefined) throw new Error(`an alert of kind ${kind} has no news`)
  const named = { ...news, vms: vms.filter(Boolean) }
  return kind === 'beacons_silent' || kind === 'beacons_missing'
    ? beaconAlerts[kind][news.form]({ ...named, fleet, at })
    : troubles[kind][news.form](named, reasons)
}

export function alertFacts({ kind, vms, news }: Alert): { name: string; value: string }[] {
  const limits =
    `${maxOpenOfBeacon} open events that one beacon alone reports, ` +
    `${maxOpenOfFleet} open events and ${maxBeaconsOfFleet} beacons in a fleet`
  if (kind === 'over_limits') {
    return [
      { name: 'Reported by', value: vms.join(', ') },
      { name: 'Limits', value: limits },
    ]
  }
  if (kind === 'subscription_disabled')
    return [{ name: 'Subscriptions', value: listed(vms, vms.length, manyNames) }]
  if (kind !== 'beacons_silent' && kind !== 'beacons_missing') return []
  const named = vms.filter(Boolean)
  const count = (news?.count ?? 0) - (news?.left.length ?? 0)
  return named.length > fewNames ? [{ name: 'VMs', value: listed(named, count, manyNames) }] : []
}

/** Whether the alert says that its cause is over. */
export function isGoodNews({ news }: Alert): boolean {
  return news?.form === 'over'
}

function overLimits(fleet: string, reasons: string[], news: LastingNews | undefined): AlertText {
  if (news !== undefined) {
    return {
      title: `Fleet "${fleet}" is within its limits again`,
      lines: [`The relay has refused no event of these VMs for ${span(quietMs)}.`],
    }
  }
  return {
    title: `Fleet "${fleet}" is over its limits: the relay refuses events`,
    lines: [
      `${reasons.map((reason) => `${reason[0]?.toUpperCase()}${reason.slice(1)}.`).join(' ')}`,
      'The relay stores no new events of these reports, and nobody is notified of them.',
      'Check these VMs. If you do not know them, replace the key of the fleet.',
    ],
  }
}

function subscriptionDisabled(ids: string[], reasons: string[]): AlertText {
  const what = ids.length === 1 ? 'a subscription' : `${ids.length} subscriptions`
  const others = ids.length - reasons.length
  return {
    title: `The relay disabled ${what}: ${reasons[0]}`,
    lines: [
      ...reasons.slice(1).map((reason) => `Also: ${reason}.`),
      ...(others > 0 ? [`The console lists ${others} more.`] : []),
      'The relay stores its messages, but does not send them.',
      'Repair the endpoint and resume the subscription. Then replay the messages that it missed.',
    ],
  }
}

function channelTest([channel = '']: string[], [by = '']: string[]): AlertText {
  return {
    title: `Test of channel "${channel}"`,
    lines: [
      'This is a test: messages of Foghorn reach this channel. Nobody has to act.',
      `Requested by ${by}.`,
    ],
  }
}

type Named = Pick<News, 'count' | 'left' | 'vms'>
type TroubleText = (news: Named, reasons: string[]) => AlertText

const troubles: Record<TroubleKind, Record<LastingNews['form'], TroubleText>> = {
  channels_in_trouble: {
    begun: (news, reasons) => ({
      title: `Channel${news.count === 1 ? '' : 's'} in trouble: ${names(news)}`,
      lines: [
        ...reasons.map((reason) => `${reason.replace(/[\s.]+$/, '')}.`),
        'Check each channel and its entry in the configuration. Then run a test in the console.',
      ],
    }),
    over: (news) => {
      const { count, left, vms } = news
      const back = count - left.length
      if (back === 0) {
        const title = `No longer in trouble: ${listed(left, count, fewNames)}`
        return { title, lines: ['The configuration no longer contains the channels named here.'] }
      }
      return {
        title: `Channel${back === 1 ? '' : 's'} ${listed(vms, back, fewNames)} work${back === 1 ? 's' : ''} again`,
        lines: ['To send the failed messages again, open Channels in the console.'],
      }
    },
  },
  backlog_grows: {
    begun: (_, [reason = '']) => ({
      title: `Messages pile up: ${reason}`,
      lines: [
        'Their channels answer, but new messages arrive faster than the relay sends them.',
        "Check the load of the relay's machine. Look for delivery_retried in the relay's log.",
      ],
    }),
    over: () => ({ title: 'Messages no longer pile up', lines: ['The relay keeps up again.'] }),
  },
  disk_nearly_full: {
    begun: (_, [reason = '']) => ({
      title: `The relay's disk is nearly full: ${reason}`,
      lines: [
        'When it is full, the relay stores nothing and notifies nobody.',
        'Free space on the disk of FOGHORN_DATA, or move that folder to a larger disk.',
      ],
    }),
    over: (_, [reason = '']) => ({
      title: `The relay's disk has space again: ${reason}`,
      lines: ['The relay can store events and messages.'],
    }),
  },
  clock_jumped: {
    begun: (_, [reason = 'an unknown time']) => ({
      title: `The relay's clock jumped: ${reason}`,
      lines: [
        'Times in messages and reminders may be off by the same amount.',
        "Check the time synchronization of the relay's machine.",
        'A machine that was suspended causes this alert, too.',
      ],
    }),
    over: () => ({
      title: `The relay's clock has been steady for ${span(steadyMs)}`,
      lines: ['No further jump was seen.'],
    }),
  },
}

const beaconAlerts: Record<
  BeaconAlertKind,
  Record<LastingNews['form'], (news: News) => AlertText>
> = {
  beacons_silent: {
    begun: (news) => {
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
          `Check that ${each} runs. Then check its beacon. See "A VM is silent" in docs/when-things-fail.md.`,
          ...(remaining > count ? [`In total, ${remaining} beacons of the fleet are silent.`] : []),
        ],
      }
    },
    over: (news) => ({
      title: overTitle(news, 'Back: ', 'again', (all) => `${all} left fleet "${news.fleet}"`),
      lines: [...leftLine(news, 'These VMs have left the fleet'), ...remainingLine(news, 'silent')],
    }),
  },
  beacons_missing: {
    begun: (news) => {
      const { fleet, count, remaining, of = count } = news
      const found = news.vms.length > 0 ? `: ${names(news)}` : ''
      return {
        title: `${count} of ${of} expected beacons of fleet "${fleet}" never reported${found}`,
        lines: [
          'If only these VMs show an event, Foghorn notifies nobody.',
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
  },
}

/** `ifNone`: what became of all of them, if none reports. */
function overTitle(
  { fleet, count, left, vms }: News,
  back: string,
  when: string,
  ifNone: (all: string) => string,
): string {
  const returned = count - left.length
  if (returned === 0) return ifNone(beacons(count))
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

function names({ vms, count }: Named): string {
  return listed(vms, count, fewNames)
}

/** `web_0, web_1 and 9 more`: `count` is how many there are, of which `vms` has the first. */
function listed(vms: string[], count: number, most: number): string {
  const shown = vms.slice(0, count <= most + 1 ? most + 1 : most)
  const more = count - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
