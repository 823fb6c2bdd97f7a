// A bot of Slack, the channel that it posts to, and the steps of one event.
import type { Notification } from '../../../functions/core/delivery/delivery.ts'
import type { Moment } from '../../../functions/core/event/moment.ts'
import { toView } from '../../../functions/core/event/view.ts'
import { compose } from '../../../functions/core/message/message.ts'
import type { Outgoing, Send } from '../../../functions/notify/notifier.ts'
import { type ChannelOf, notifiers } from '../../../functions/notify/registry.ts'
import { at, claimed, type Fields, record } from '../../support/records.ts'
import { botChannel, createSlackBot } from '../../support/slack-bot.ts'
import { memoryChatMessage, outgoing } from '../outgoing.ts'

export const channel: ChannelOf<'slack_bot'> = { ...botChannel, kind: 'slack_bot' }
export const approved = { decision: 'approved' as const, how: 'link' as const, who: 'ops', at }

export function createBotBench() {
  const slack = createSlackBot()
  const bench = {
    slack,
    chatMessage: memoryChatMessage(),
    /** The next step of the event. */
    step(moment: Moment, seq: number, changes: Fields = {}): Outgoing {
      const notification: Notification = { moment, at, event: toView(record(changes)) }
      const delivery = claimed(`d-${seq}`, { notification, seq, lease: `lease-${seq}` })
      return outgoing({
        delivery,
        message: compose(notification, at),
        chatMessage: bench.chatMessage,
      })
    },
    notify: (what: Outgoing, send: Send = slack.send) =>
      notifiers.slack_bot.notify(what, channel, send),
    methods: () => slack.calls.map(({ method }) => method),
  }
  return bench
}

export const titleOf = ({ text }: { text: string }) => text.split('\n', 1)[0]
