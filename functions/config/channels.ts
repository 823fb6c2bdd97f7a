// The kinds of channels in the configuration. A new kind is one entry of `schemas`; what names the kinds
// follows from it. An address is called `url` or `endpoint`, and any other text of a channel is a secret,
// unless config.ts names its key as open.
import { z } from 'zod'
import { identifier, isWebUrl, object, quoted, secrets, textBy, webUrl } from './checks.ts'
import { slackSchema } from './slack.ts'
import { didYouMean } from './suggest.ts'

const routingRule = 'a routing key has 32 characters, letters and digits'
const enqueue = '/v2/enqueue'
const endpointRule = `write https://events.pagerduty.com${enqueue}, or for the EU https://events.eu.pagerduty.com${enqueue}`

function common<const Kind extends string>(kind: Kind) {
  return {
    kind: z.literal(kind).describe('Which kind of channel it is; each has keys of its own.'),
    fallback: identifier
      .optional()
      .describe("Another channel, which is told when this one refuses or can't be reached."),
  }
}

const schemas = {
  slack: slackSchema(common('slack')),
  teams: object({
    ...common('teams'),
    url: webUrl.describe('Of a workflow webhook. It is the secret.'),
  }),
  pagerduty: object({
    ...common('pagerduty'),
    routingKey: textBy(routingRule)
      .regex(/^[A-Za-z0-9]{32}$/, routingRule)
      .describe('The integration key of Events API v2, 32 characters. It is the secret.'),
    endpoint: webUrl
      .refine(isEventsV2, { error: endpointRule })
      .default(`https://events.pagerduty.com${enqueue}`)
      .describe(`For the EU: https://events.eu.pagerduty.com${enqueue}`),
  }),
  webhook: object({
    ...common('webhook'),
    url: webUrl.describe('Is sent CloudEvents under Standard Webhooks headers.'),
    secret: secrets.describe('Signs them: "whsec_" and base64; a list while one is replaced.'),
  }),
}

type Schema = (typeof schemas)[keyof typeof schemas]

export const kinds = Object.keys(schemas)

export const channelSchema = z.discriminatedUnion(
  'kind',
  Object.values(schemas) as [Schema, ...Schema[]],
  {
    error: ({ input }) => {
      if (typeof input !== 'object' || input === null || Array.isArray(input)) {
        return 'write an object in { }, with a kind and what it needs'
      }
      const meant = didYouMean((input as { kind?: unknown }).kind, kinds)
      return `write a kind: ${quoted(kinds)}${meant}`
    },
  },
)

/** PagerDuty's own hosts take events of version 2 nowhere else; another host may be a proxy. */
function isEventsV2(endpoint: string): boolean {
  if (!isWebUrl(endpoint)) return true
  const { hostname, pathname } = new URL(endpoint)
  return !/(^|\.)pagerduty\.com$/.test(hostname) || pathname.replace(/\/$/, '') === enqueue
}
