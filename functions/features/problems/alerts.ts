// What the alerts say that are about no beacon and no subscription.
import type { AlertTraits } from '../../core/delivery/alert-kind.ts'
import { span } from '../../core/event/time.ts'
import { maxBeaconsOfFleet, maxOpenOfBeacon, maxOpenOfFleet } from '../../core/limits.ts'
import {
  beginsAndEnds,
  fewNames,
  listed,
  manyNames,
  namesIn,
} from '../../core/message/alert-words.ts'
import { capital } from '../../core/message/phrases.ts'

/** Two messages of a kind about new problems, or about ends, are this far apart. */
export const quietMs = 15 * 60_000

declare module '../../core/delivery/alert-kind.ts' {
  interface AlertKinds {
    over_limits: true
    channels_in_trouble: true
    disk_nearly_full: true
    azure_refuses: true
  }
}

const overLimits: AlertTraits = {
  text: beginsAndEnds({
    begun: ({ fleet, reasons }) => ({
      title: `Fleet "${fleet}" is over its limits: the relay refuses events`,
      lines: [
        reasons.map((reason) => `${capital(reason)}.`).join(' '),
        'The relay stores no new events of these reports, and nobody is notified of them.',
        'Check these VMs. If you do not know them, replace the key of the fleet.',
      ],
    }),
    over: ({ fleet }) => ({
      title: `Fleet "${fleet}" is within its limits again`,
      lines: [`The relay has refused no event of these VMs for ${span(quietMs)}.`],
    }),
  }),
  facts: ({ names, news }) => [
    { name: 'Reported by', value: listed(names, news?.count ?? 0, manyNames) },
    {
      name: 'Limits',
      value:
        `${maxOpenOfBeacon} open events that one beacon alone reports, ` +
        `${maxOpenOfFleet} open events and ${maxBeaconsOfFleet} beacons in a fleet`,
    },
  ],
  page: (_, fleet) => `/beacons?${new URLSearchParams({ fleet })}`,
  ends: 'by_quiet',
}

const channelsInTrouble: AlertTraits = {
  text: beginsAndEnds({
    begun: (news) => ({
      title: `${news.count === 1 ? 'A channel gets' : `${news.count} channels get`} no messages: ${namesIn(news)}`,
      lines: [
        ...news.reasons.map((reason) => `${reason.replace(/[\s.]+$/, '')}.`),
        'Check each channel and its entry in the configuration. Then send a test message in the console.',
      ],
    }),
    over({ count, left, names }) {
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
  }),
  page: ({ names }) =>
    names.length === 1 ? `/channels/${encodeURIComponent(names[0]!)}` : '/channels',
  ends: 'noted',
}

const diskNearlyFull: AlertTraits = {
  text: beginsAndEnds({
    begun: ({ reasons: [reason = ''] }) => ({
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
  }),
  page: () => '',
  ends: 'noted',
}

const azureRefuses: AlertTraits = {
  text: beginsAndEnds({
    begun: ({ fleet, reasons }) => ({
      title: `Azure refuses approvals of fleet "${fleet}": a role is missing`,
      lines: [
        ...reasons.map((reason) => `${capital(reason)}.`),
        'Beacons can still tell Azure to start an event. Until the role is given, the relay cannot.',
      ],
    }),
    over: ({ fleet }) => ({
      title: `Azure no longer refuses approvals of fleet "${fleet}"`,
      lines: [`Resource Manager has refused none for ${span(quietMs)}.`],
    }),
  }),
  page: () => '',
  ends: 'by_quiet',
}

export const problemAlerts = {
  over_limits: overLimits,
  channels_in_trouble: channelsInTrouble,
  disk_nearly_full: diskNearlyFull,
  azure_refuses: azureRefuses,
}
