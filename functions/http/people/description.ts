// The routes for people, described as far as a program needs them: they are pages and forms.
import * as z from 'zod'
import type { RouteDescription } from '../description.ts'
import { maxFormBytes } from './approve.ts'
import { interactionsPath, maxPayloadBytes } from './slack.ts'

const html = 'text/html'
const form = 'application/x-www-form-urlencoded'
const page = { about: 'A page.', type: html, schema: z.string() }
const token = { token: 'From a message. Only the relay can make one.' }

const decisionForm = z.object({
  decision: z.enum(['approve', 'not_now', 'prepare']),
  form: z.string().describe('As the page has it.'),
  event: z.string().optional().describe('In a list: the place of the event.'),
})

const link = {
  path: '/approve/{token}',
  group: 'Decisions',
  caller: 'link',
  params: token,
  query: 'any',
} as const

export const peopleDescriptions: RouteDescription[] = [
  {
    ...link,
    method: 'get',
    name: 'showApprovePage',
    summary: 'The page behind a link. It changes nothing.',
    answers: { 200: page },
  },
  {
    ...link,
    method: 'post',
    name: 'submitApprovePage',
    summary: 'The form of that page, which decides.',
    body: { schema: decisionForm, type: form, maxBytes: maxFormBytes },
    answers: { 200: page },
  },
  {
    ...link,
    method: 'options',
    name: 'approvePageMethods',
    summary: 'The methods of that page.',
    answers: { 204: { about: 'In the header `allow`.' } },
  },
  {
    ...link,
    path: '/approve/{token}/state',
    method: 'get',
    name: 'pollApprovePage',
    summary: 'What an open page asks for. Its form may change at any time.',
    answers: { 200: { about: 'The state of the event.', schema: z.looseObject({}) } },
  },
  {
    method: 'post',
    path: interactionsPath,
    name: 'slackInteraction',
    summary: 'Slack says that a button was pressed.',
    group: 'Decisions',
    caller: 'slack',
    body: { schema: z.object({ payload: z.string() }), type: form, maxBytes: maxPayloadBytes },
    answers: { 200: { about: 'Read. The reply to the person goes to Slack.' } },
    problems: [404],
  },
]
