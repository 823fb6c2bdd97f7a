// The texts of alerts to owners: what is wrong, what follows from it, and what to do.
import type { AlertNews, FleetAlert } from '../delivery/delivery.ts'
import { quietMs } from '../delivery/problem.ts'
import { lastingClock, span } from '../event/time.ts'
import { maxBeaconsOfFleet, maxOpenOfBeacon, maxOpenOfFleet } from '../limits.ts'
import { capital } from './phrases.ts'

interface AlertText {
  title: string
  lines: string[]
}

type News = AlertNews & { names: string[]; fleet: string; at: number }

/** Names in a title, and in a fact. */
const [fewNames, manyNames] = [3, 10]

/** `at` is when the alert was planned, so a retry says the same. */
export function alertText(fleet: string, about: FleetAlert, at: number): AlertText {
  const { alert: kind, news, names, reasons } = about
  if (kind === 'channel_test') return channelTest(names, reasons)
  if (news === undefined) throw new Error(`an alert of kind ${kind} has no news`)
  if (kind === 'over_limits') return overLimits(fleet, reasons, news)
  if (kind === 'subscription_disabled') return subscriptionDisabled(news.count, reasons)
  if (kind === 'azure_refuses') return azureRefuses(fleet, reasons, news)
  const named = { ...news, names: names.filter(Boolean) }
  return kind === 'beacons_silent' || kind === 'beacons_missing'
    ? beaconAlerts[kind][news.form]({ ...named, fleet, at })
    : troubles[kind][news.form](named, reasons)
}

export function alertFacts(about: FleetAlert): { name: string; value: string }[] {
  const { alert: kind, names, news } = about
  const limits =
    `${maxOpenOfBeacon} open events that one beacon alone reports, ` +
    `${maxOpenOfFleet} open events and ${maxBeaconsOfFleet} beacons in a fleet`
  if (kind === 'over_limits') {
    return [
      { name: 'Reported by', value: listed(names, news?.count ?? 0, manyNames) },
      { name: 'Limits', value: limits },
    ]
  }
  if (kind === 'subscription_disabled')
    return [{ name: 'Subscriptions', value: listed(names, news?.count ?? 0, manyNames) }]
  if (kind !== 'beacons_silent' && kind !== 'beacons_missing') return []
  const named = names.filter(Boolean)
  const count = (news?.count ?? 0) - (news?.left.length ?? 0)
  return named.length > fewNames ? [{ name: 'VMs', value: listed(named, count, manyNames) }] : []
}

/** Whether the alert says that its cause is over. */
export function isGoodNews({ news }: FleetAlert): boolean {
  return news?.form === 'over'
}

function overLimits(fleet: string, reasons: string[], news: AlertNews): AlertText {
  if (news.form === 'over') {
    return {
      title: `Fleet "${fleet}" is within its limits again`,
      lines: [`The relay has refused no event of these VMs for ${span(quietMs)}.`],
    }
  }
  return {
    title: `Fleet "${fleet}" is over its limits: the relay refuses events`,
    lines: [
      reasons.map((reason) => `${capital(reason)}.`).join(' '),
      'The relay stores no new events of these reports, and nobody is notified of them.',
      'Check these VMs. If you do not know them, replace the key of the fleet.',
    ],
  }
}

function azureRefuses(fleet: string, reasons: string[], { form }: AlertNews): AlertText {
  if (form === 'over') {
    return {
      title: `Azure no longer refuses approvals of fleet "${fleet}"`,
      lines: [`Resource Manager has refused none for ${span(quietMs)}.`],
    }
  }
  return {
    title: `Azure refuses approvals of fleet "${fleet}": a role is missing`,
    lines: [
      ...reasons.map((reason) => `${capital(reason)}.`),
      'Beacons can still tell Azure to start an event. Until the role is given, the relay cannot.',
    ],
  }
}

function subscriptionDisabled(count: number, reasons: string[]): AlertText {
  const what = count === 1 ? 'the subscription' : `${count} subscriptions:`
  const others = count - reasons.length
  return {
    title: `The relay disabled ${what} ${reasons[0]}`,
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

type Named = Pick<News, 'count' | 'left' | 'names'>
type TroubleText = (news: Named, reasons: string[]) => AlertText

const troubles: Record<
  'channels_in_trouble' | 'disk_nearly_full',
  Record<AlertNews['form'], TroubleText>
> = {
  channels_in_trouble: {
    begun: (news, reasons) => ({
      title: `${news.count === 1 ? 'A channel gets' : `${news.count} channels get`} no messages: ${namesIn(news)}`,
      lines: [
        ...reasons.map((reason) => `${reason.replace(/[\s.]+$/, '')}.`),
        'Check each channel and its entry in the configuration. Then send a test message in the console.',
      ],
    }),
    over: (news) => {
      const { count, left, names } = news
      const back = count - left.length
      if (back === 0) {
        const title = `No longer in trouble: ${listed(left, count, fewNames)}`
        return { title, lines: ['The configuration no longer contains the channels named here.'] }
      }
      return {
        title: `Channel${back === 1 ? '' : 's'} ${listed(names, back, fewNames)} work${back === 1 ? 's' : ''} again`,
        lines: ['To send the failed messages again, open Channels in the console.'],
      }
    },
  },
  disk_nearly_full: {
    begun: (_, [reason = '']) => ({
      title: `The relay's disk is nearly full: ${reason}`,
      lines: [
        'When it is full, the relay stores nothing and notifies nobody.',
        'Free space on the disk of FOGHORN_DATA, or move that folder to a larger disk.',
      ],
    }),
    over: () => ({
      title: "The relay's disk has space again",
      lines: ['The relay can store events and messages.'],
    }),
  },
}

const beaconAlerts: Record<
  'beacons_silent' | 'beacons_missing',
  Record<AlertNews['form'], (news: News) => AlertText>
> = {
  beacons_silent: {
    begun: (news) => {
      const { fleet, count, since, at, of, remaining } = news
      const time = lastingClock(since, at)
      const isAll = of !== undefined && of > 1 && remaining >= of
      const [these, each] =
        count === 1 ? ['this VM shows', 'the VM'] : ['these VMs show', 'each VM']
      return {
        title: `${beacons(count)} of fleet "${fleet}" silent since ${time}: ${namesIn(news)}`,
        lines: [
          ...(isAll
            ? ['No beacon of the fleet reports. Check first that VMs reach the relay.']
            : []),
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
  },
  beacons_missing: {
    begun: (news) => {
      const { fleet, count, remaining, of = count } = news
      const found = news.names.length > 0 ? `: ${namesIn(news)}` : ''
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

function namesIn({ names, count }: Named): string {
  return listed(names, count, fewNames)
}

/** `web_0, web_1 and 9 more`: `count` is how many there are, of which `names` has the first. */
function listed(names: string[], count: number, most: number): string {
  const shown = names.slice(0, count <= most + 1 ? most + 1 : most)
  const more = count - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
