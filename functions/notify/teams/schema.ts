// The configuration of a Teams channel: the address of a workflow webhook, or a channel that the bot is in. The
// output is one of two kinds, as they have different rates.
import type { z } from 'zod'
import { guid, isWebUrl, textBy, webRule, webUrl } from '../../schema/checks.ts'
import { entry } from '../kind.ts'

const channelRule =
  'write the id of a channel, such as "19:…@thread.tacv2": it is in the link of the channel, where %3A is ":" and %40 is "@"'
const tenantRule = 'write the GUID of the tenant of the people who are in this channel'
const connector = 'https://smba.trafficmanager.net/teams'
const either = 'either "url", or "channelId" and "tenantId"'

const pageRule =
  'a page for people, which takes no messages; write the address that the workflow\'s first step shows, "When a Teams webhook request is received"'
const entityRule = '"&amp;" is how the source of a page writes "&"; write "&"'

const parts = entry('teams', {
  url: webUrl
    .refine((url) => !isPage(url), { error: pageRule })
    .refine((url) => !/[?&]\S*&amp;/i.test(url), { error: entityRule })
    .optional()
    .describe('The address of a workflow webhook. It is the secret.'),
  channelId: textBy(channelRule)
    .regex(/^19:[\w-]{1,128}@thread\.(tacv2|skype)$/, channelRule)
    .optional()
    .describe('Instead of `url`: the id of a channel that the bot is in.'),
  tenantId: guid(tenantRule)
    .optional()
    .describe('With `channelId`: the Entra tenant of its people.'),
  endpoint: webUrl
    .optional()
    .describe("With `channelId`: the address of the Bot Connector. Default: Microsoft's."),
})

/** Sites for people. Workflows are not checked by host, because Microsoft moves them. */
const pages =
  /^(teams\.(microsoft|live)\.com|teams\.cloud\.microsoft|make\.power(automate|apps)\.com|([\w-]+\.)?flow\.microsoft\.com|portal\.azure\.com)$/

function isPage(url: string): boolean {
  return isWebUrl(url) && pages.test(new URL(url).hostname)
}

export const teamsSchema = parts
  .check(({ value, issues }) => {
    const say = (path: string, message: string) => {
      issues.push({ code: 'custom', path: [path], message, input: undefined })
    }
    const { url, channelId, tenantId, endpoint } = value
    if (url !== undefined) {
      for (const [key, own] of Object.entries({ channelId, tenantId, endpoint })) {
        if (own !== undefined) say(key, `write ${either}; remove this or "url"`)
      }
      return
    }
    if (channelId === undefined && tenantId === undefined && endpoint === undefined) {
      return say('url', `missing; ${webRule}; or the bot's "channelId" and "tenantId"`)
    }
    if (channelId === undefined) say('channelId', `missing; ${channelRule}`)
    if (tenantId === undefined) say('tenantId', `missing; ${tenantRule}`)
  })
  .transform(({ url, channelId, tenantId, endpoint, ...rest }) =>
    url !== undefined
      ? { ...rest, url }
      : {
          ...rest,
          kind: 'teams_bot' as const,
          channelId: channelId!,
          tenantId: tenantId!,
          endpoint: (endpoint ?? connector).replace(/\/+$/, ''),
        },
  )

type Out = z.output<typeof teamsSchema>
export type Workflow = Extract<Out, { kind: 'teams' }>
export type Bot = Extract<Out, { kind: 'teams_bot' }>
