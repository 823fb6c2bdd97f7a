// Slack's Web API without a network: the simulator's own judge behind a function that sends.
import type { Send } from '../../functions/notify/notifier.ts'
import {
  SLACK_API_PREFIX,
  SLACK_CHANNEL,
  SLACK_TOKEN,
  type SlackMessage,
  slackBotSink,
} from '../simulator/sinks/slack-bot.ts'

export const botChannel = {
  kind: 'slack' as const,
  token: SLACK_TOKEN,
  channel: SLACK_CHANNEL,
  endpoint: `https://slackbot.example${SLACK_API_PREFIX.slice(0, -1)}`,
}

export type SlackBot = ReturnType<typeof createSlackBot>

export function createSlackBot() {
  const sink = slackBotSink()
  const calls: { method: string; json: ReturnType<typeof JSON.parse>; valid: true | string }[] = []
  const faults: (() => Response | Promise<Response>)[] = []
  const answer = (url: string, init: RequestInit): Response | Promise<Response> => {
    const { pathname: path } = new URL(url)
    const headers = Object.fromEntries(new Headers(init.headers))
    const body = String(init.body)
    const json = JSON.parse(body)
    const request = { kind: 'slack_bot' as const, method: 'POST', at: 0, path, headers, body, json }
    const { valid, reply } = sink.judge(request)
    calls.push({ method: path.slice(SLACK_API_PREFIX.length), json, valid })
    const fault = faults.shift()
    if (fault !== undefined) return fault()
    if (valid === true) sink.accept(request)
    return Response.json(reply.body, { status: reply.status })
  }
  const send: Send = async (url, init) => answer(url, init)
  const inChannel = (one: SlackMessage) => one.thread_ts === undefined
  return {
    send,
    answer,
    calls,
    freeze: sink.freeze,
    remove: sink.remove,
    /** Answers of the next calls, which Slack takes nothing of. */
    failNext: (...answers: (() => Response | Promise<Response>)[]) => void faults.push(...answers),
    messages: (): SlackMessage[] => [...sink.messages.values()].filter(inChannel),
    replies: (): SlackMessage[] => [...sink.messages.values()].filter((one) => !inChannel(one)),
  }
}

export function refusing(error: string, headers: Record<string, string> = {}) {
  return () => Response.json({ ok: false, error }, { headers })
}

interface Button {
  url?: string
  text: { text: string }
  style?: string
}

/** Those that decide, or open a page of the relay. */
export function buttonsOf({ blocks }: SlackMessage): Button[] {
  return (blocks as { type: string; elements?: Button[] }[])
    .filter(({ type }) => type === 'actions')
    .flatMap(({ elements = [] }) => elements)
    .filter(({ url = '' }) => !url.startsWith('https://portal.azure.com/'))
}
