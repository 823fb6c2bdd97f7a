// The configuration of a Slack channel: the address of an incoming webhook, or the token of a bot
// and its channel. The output is one of two kinds, as they have different rates.
import type { z } from 'zod'
import { isWebUrl, textBy, webRule, webUrl } from '../../schema/checks.ts'
import { entry } from '../kind.ts'

const tokenRule = 'write the token of a bot, "xoxb-" and what follows'
const shortRule = `too short for a token of a bot; ${tokenRule}, all of it`
const token = textBy(tokenRule)
  .regex(/^xoxb-[A-Za-z0-9-]{0,250}$/, tokenRule)
  .refine((value) => !/^xoxb-[A-Za-z0-9-]{0,7}$/.test(value), { error: shortRule })
// Slack can post to a channel by its name, but not edit there.
const channelRule = 'write the id of a channel, such as "C0123456789", not its name'
const channel = textBy(channelRule).regex(/^[CGD][A-Z0-9]{4,30}$/, channelRule)

const incomingRule =
  'write the address of an incoming webhook, https://hooks.slack.com/services/T…/B…/…, all of it: links to channels and triggers of workflows accept no messages'

const slackApi = 'https://slack.com/api'
const endpointRule = `write ${slackApi}, or for GovSlack https://slack-gov.com/api, without a method's name`
const either = 'either "url", or "token" and "channel"'

const parts = entry('slack', {
  url: webUrl
    .refine(isIncoming, { error: incomingRule })
    .optional()
    .describe('The address of an incoming webhook. It is the secret.'),
  token: token
    .optional()
    .describe('Instead of `url`: the token of a bot with the scope chat:write. It is the secret.'),
  channel: channel.optional().describe('With `token`: the id of a channel that the bot is in.'),
  endpoint: webUrl
    .refine(isApi, { error: endpointRule })
    .optional()
    .describe("With `token`: the address of Slack's API. For GovSlack: https://slack-gov.com/api"),
})

export const slackSchema = parts
  .check(({ value, issues }) => {
    const say = (path: string, message: string) => {
      issues.push({ code: 'custom', path: [path], message, input: undefined })
    }
    if (value.url !== undefined) {
      for (const key of ['token', 'channel', 'endpoint'] as const) {
        if (value[key] !== undefined) say(key, `write ${either}; remove this or "url"`)
      }
      return
    }
    const isBot = [value.token, value.channel, value.endpoint].some((part) => part !== undefined)
    if (!isBot) return say('url', `missing; ${webRule}; or a bot's "token" and "channel"`)
    if (value.token === undefined) say('token', `missing; ${tokenRule}`)
    if (value.channel === undefined) say('channel', `missing; ${channelRule}`)
  })
  .transform(({ url, token, channel, endpoint, ...rest }) =>
    url !== undefined
      ? { ...rest, url }
      : {
          ...rest,
          kind: 'slack_bot' as const,
          token: token!,
          channel: channel!,
          endpoint: (endpoint ?? slackApi).replace(/\/+$/, ''),
        },
  )

type Out = z.output<typeof slackSchema>
export type Incoming = Extract<Out, { kind: 'slack' }>
export type Bot = Extract<Out, { kind: 'slack_bot' }>

/** On Slack's hosts, only such paths accept messages. Another host may be a proxy. */
function isIncoming(url: string): boolean {
  return !isAtSlack(url) || /^\/services(\/[\w-]+){3}\/?$/.test(new URL(url).pathname)
}

function isApi(url: string): boolean {
  return !isAtSlack(url) || /^https?:\/\/[^/]+\/api\/?$/.test(url)
}

function isAtSlack(url: string): boolean {
  return isWebUrl(url) && /(^|\.)slack(-gov)?\.com$/.test(new URL(url).hostname)
}
