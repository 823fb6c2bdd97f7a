// The alert about subscriptions that the relay disabled.
import type { AlertTraits } from '../../core/delivery/alert-kind.ts'
import { listed, manyNames } from '../../core/message/alert-words.ts'

declare module '../../core/delivery/alert-kind.ts' {
  interface AlertKinds {
    subscription_disabled: true
  }
}

const subscriptionDisabled: AlertTraits = {
  text({ news, reasons }) {
    const count = news?.count ?? reasons.length
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
  },
  facts: ({ names, news }) => [
    { name: 'Subscriptions', value: listed(names, news?.count ?? 0, manyNames) },
  ],
  page: () => '/channels',
  ends: 'untold',
}

export const subscriptionAlerts = { subscription_disabled: subscriptionDisabled }
