// The ways by which people come to a relay: the page behind a link, and the buttons of a message in Slack, which always
// come signed. Most worlds spare themselves the page's HTTP face, which takes time; what somebody saw goes along with
// their decision either way.

import { Hono } from 'hono'
import { makeStamp } from '../../functions/core/event/approval.ts'
import type { Decided, Decider } from '../../functions/core/event/event.ts'
import { answerPress, interactionsPath } from '../../functions/http/people/slack.ts'
import { createFormToken } from '../../functions/links/link.ts'
import { actionIds } from '../../functions/notify/slack/blocks.ts'
import { isDecidable } from '../../functions/pages/state.ts'
import { decideEvent, open } from '../../functions/use-cases/decide-event.ts'
import { createFrequentLog } from '../../functions/use-cases/frequent-log.ts'
import type { Relay } from '../../functions/use-cases/relay.ts'
import { fieldsOf } from '../support/form.ts'
import { formType } from '../support/people.ts'
import { signedIn } from '../support/principals.ts'
import { actionOf, formOf, payloadOf, personOf, postSigned } from '../support/slack-press.ts'

type Decision = Decided['decision']

/** What somebody agrees to: the stamp of what they saw, and what the page's form sends back. */
interface Shown {
  stamp: string
  fields: Record<string, string>
}

/** What people are answered, in the words of `decideEvent` where they come from there. */
export type Said = string

export interface PageWay {
  /** Opens the page; nothing where it has nothing to decide. */
  look(path: string, by: Decider): Promise<Shown | undefined>
  /** Presses a button of that page. */
  decide(path: string, by: Decider, decision: Decision, shown: Shown): Promise<Said>
}

export interface SlackWay {
  /** Presses a button in Slack that carries this value. */
  press(value: string, by: Decider, decision: Decision): Promise<Said>
}

/** What is not in these words is no answer that a person should get. */
export const answers = [
  'decided',
  'already_approved',
  'already_declined',
  'started',
  'ended',
  'busy',
  'identity_needed',
  'not_listed',
  'outsider',
  'not_here',
  'moved_on',
  'expired',
] as const

const tokenIn = (path: string) => path.slice('/approve/'.length)

/** Without the HTTP face. */
export function directPage(relay: Relay): PageWay {
  return {
    async look(path) {
      const opened = await open(relay, tokenIn(path))
      if (opened.outcome !== 'open' || !isDecidable(opened.record)) return undefined
      return { stamp: makeStamp(opened.record), fields: {} }
    },
    async decide(path, by, decision, { stamp }) {
      const opened = await open(relay, tokenIn(path))
      if (opened.outcome !== 'open') return opened.outcome
      return (await decideEvent(relay, opened.record, { by, decision, seen: stamp })).outcome
    },
  }
}

/** Takes what is answered to presses in Slack, each at an address of its own. */
export class Replies {
  readonly #bodies = new Map<string, { text?: string }>()
  readonly #wait: () => Promise<void>
  #count = 0

  constructor(wait: () => Promise<void>) {
    this.#wait = wait
  }

  address(): string {
    return `https://hooks.slack.com/actions/T0HOME/${++this.#count}/reply`
  }

  readonly send: Relay['sending']['send'] = async (url, init) => {
    await this.#wait()
    this.#bodies.set(url, JSON.parse(String(init.body)))
    return new Response('ok')
  }

  take(url: string): { text?: string } | undefined {
    const body = this.#bodies.get(url)
    this.#bodies.delete(url)
    return body
  }
}

/** No time of the machine may end what takes time of the world. */
const patient = { answerMs: 3_600_000, replyMs: 3_600_000 }

type App = { request(path: string, init?: RequestInit): Response | Promise<Response> }

/** Over HTTP, as browsers come. */
export function httpPage(relay: Relay, app: App): PageWay {
  return {
    async look(path, by) {
      // opened from a message: pages that one's own page led to count no press at once
      const { 'sec-fetch-site': _, ...headers } = headersOf(by)
      const shown = await app.request(path, { headers })
      const html = await shown.text()
      const { form, ...rest } = fieldsOf(html)
      if (form !== undefined) return { stamp: form.split('.')[0]!, fields: { form, ...rest } }
      return html.includes('class="refusal"') ? borrowForm(relay, path) : undefined
    },
    async decide(path, by, decision, { fields }) {
      const wish = decision === 'approved' ? 'approve' : 'not_now'
      const headers = { 'content-type': formType, ...headersOf(by) }
      const press = (one: string) => {
        const body = new URLSearchParams({ ...fields, decision: one, reason: 'a reason' })
        return app.request(path, { method: 'POST', body: body.toString(), headers })
      }
      // who waits says first that they look at it, which changes nothing
      if (decision === 'declined') await press('take')
      const response = await press(wish)
      return readSaid(await response.text(), onPage) ?? `HTTP ${response.status} on the page`
    },
  }
}

/** As Slack comes: with a signed payload, to be answered at the address in it. */
export function slackWay(relay: Relay, replies: Replies): SlackWay {
  const refusals = createFrequentLog(relay)
  const app = new Hono().post(interactionsPath, (c) => answerPress(relay, refusals, c, patient))
  return {
    async press(value, { who }, decision) {
      const [team, user] = who.split('/')
      const url = replies.address()
      const payload = payloadOf(value, {
        ...personOf(user!, team),
        ...actionOf(value, actionIds[decision]),
        response_url: url,
      })
      const { response } = await postSigned({ app, clock: { now: relay.now() } }, formOf(payload))
      const reply = replies.take(url)
      if (response.status !== 200) return `HTTP ${response.status} in Slack`
      // the message itself says who decided: put in its place, or edited by the delivery of that
      if (reply?.text === undefined || 'blocks' in reply) return 'decided'
      return readSaid(reply.text, inSlack) ?? 'an unknown reply in Slack'
    },
  }
}

function headersOf({ how, who }: Decider): Record<string, string> {
  return how === 'entra' ? signedIn(who.split('/')[1], who.split('/')[0]) : {}
}

/** The form as somebody who may decide has it: it is bound to the link, and proves nobody. */
async function borrowForm(relay: Relay, path: string): Promise<Shown | undefined> {
  const link = tokenIn(path)
  const opened = await open(relay, link)
  if (opened.outcome !== 'open') return undefined
  const stamp = makeStamp(opened.record)
  return { stamp, fields: { form: await createFormToken(relay.credentials.linkKeys, link, stamp) } }
}

const onPage: [string, Said][] = [
  ['You approved it', 'decided'],
  ['You left it to Azure', 'decided'],
  ['the event was already approved', 'already_approved'],
  ['it was already left to Azure', 'already_declined'],
  ['Too late to decide: the event has started', 'started'],
  ['Too late to decide: the event is over', 'ended'],
  ['the link alone does not prove', 'identity_needed'],
  ['you are not a listed approver', 'not_listed'],
  ['after you opened this page, the event changed', 'moved_on'],
  ['too many decisions at once', 'busy'],
  ['This link has expired', 'expired'],
]

const inSlack: [string, Said][] = [
  ['You can still approve it', 'already_declined'],
  ['already decided', 'already_approved'],
  ['too late: it started', 'started'],
  ['too late: it', 'ended'],
  ['you are not a listed approver', 'not_listed'],
  ['you are not from this workspace', 'outsider'],
  ['people in this channel may no longer decide this event', 'not_here'],
  ['changed or was decided after this message', 'moved_on'],
  ['too many decisions at once', 'busy'],
  ['this button has expired', 'expired'],
]

function readSaid(text: string, words: [string, Said][]): Said | undefined {
  return words.find(([part]) => text.includes(part))?.[1]
}
