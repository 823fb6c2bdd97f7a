// Every state that the page behind a link can show, as HTML; for eyes, and for the browser's checks.

import type { Decided, HistoryEntry } from '../../functions/core/event/event.ts'
import { busyPage, type DeadLink, deadLinks, deadPage } from '../../functions/http/people/entry.ts'
import { eventPage } from '../../functions/pages/approve.ts'
import type { Seen, Viewer } from '../../functions/pages/event.ts'
import { listPage } from '../../functions/pages/list.ts'
import { aDrill, at, type Fields, facts, record } from '../support/records.ts'

const second = 1_000
const minute = 60 * second
const dueAt = at + 15 * minute
const now = at + 3 * minute

const why = 'Virtual machine is going to be restarted as requested by host maintenance.'
const usual = facts({ resources: ['web_3'], notBeforeAt: dueAt, description: why })
const { notBeforeAt: _, ...noTime } = usual
const seen: HistoryEntry[] = [{ at, what: 'seen', note: 'web_0' }]

const declined: Decided = {
  decision: 'declined',
  how: 'link',
  who: 'ops-slack',
  at: at + minute,
}
const approved: Decided = { ...declined, decision: 'approved', at: at + 2 * minute }
const bySlack: Decided = { ...approved, how: 'slack', who: 'T0423/U0871' }
const byRule: Decided = { ...approved, how: 'policy', who: 'short freeze', at }

const told: HistoryEntry = { at: approved.at, what: 'approved', note: 'link: ops-slack' }
const directed: HistoryEntry = { at: approved.at + second, what: 'directed', note: 'web_1' }
const accepted = { vm: 'web_1', at: approved.at + 1_400 }
const passed: HistoryEntry = { at: accepted.at, what: 'azure_accepted', note: 'web_1' }
const startedAt = approved.at + 20 * second
const began: HistoryEntry = { at: startedAt, what: 'started', note: 'web_3' }

const threeVms: Fields = { facts: { ...usual, resources: ['web_3', 'web_4', 'web_5'] } }
const notNow: Fields = {
  decided: declined,
  history: [...seen, { ...told, at: declined.at, what: 'declined' }],
}
const silent = { since: at, vms: ['web_3'], count: 1 }
const decided = { decided: approved, history: [...seen, told] }
const running: Fields = {
  decided: approved,
  azure: { accepted },
  phase: 'started',
  started: { at: startedAt },
  history: [...seen, told, directed, passed, began],
}

const allowed: Viewer = { permission: 'allowed', ways: [], isUnproved: true }
const inSlack = { service: 'Slack', channels: ['ops-slack'] }
const bare: Viewer = { permission: 'identity_needed', ways: [inSlack, 'sign_in'] }
const slackOnly: Viewer = { ...bare, ways: [inSlack] }

const courses: Record<string, Fields> = {
  open: {},
  'open, many VMs': {
    facts: {
      ...usual,
      eventType: 'Freeze',
      durationSeconds: 30,
      resources: [...Array(40).keys()].map((i) => `vmss-checkout-prod-weu_${i}`),
    },
  },
  'open, days ahead': {
    facts: { ...usual, eventType: 'Redeploy', notBeforeAt: at + 6 * 86_400_000 },
  },
  'open, more VMs than Foghorn decides about': {
    facts: { ...usual, resources: [...Array(200).keys()].map((i) => `web_${i}`), vmCount: 340 },
    policy: { decide: 'notify', rule: 'default' },
  },
  'open, its time has come': { facts: { ...usual, notBeforeAt: now - 20 * second } },
  'open, time not known': { facts: noTime },
  'hooks, a rule waits': {
    ...threeVms,
    policy: { decide: 'approve', rule: 'drained', whenReady: true, maxConcurrent: 1 },
    wait: {
      slot: { state: 'waits', behind: ['web_1'], at },
      readiness: {
        counts: { planned: 2, ready: 1 },
        unready: [
          { vm: 'web_3', state: 'planned', since: at },
          { vm: 'web_4', state: 'planned', since: at },
        ],
      },
    },
  },
  'hooks, not ready': {
    ...threeVms,
    policy: { decide: 'ask', rule: 'drained', whenReady: true },
    wait: {
      notReady: { at: at + minute, rule: 'drained', why: 'cannot_be_ready' },
      readiness: {
        counts: { failed: 1, ready: 2 },
        unready: [
          { vm: 'web_3', state: 'failed', since: at + minute, exitCode: 3, note: 'disk busy' },
        ],
      },
    },
    history: [...seen, { at: at + minute, what: 'not_ready', note: 'cannot_be_ready' }],
  },
  'hooks, asked to prepare': {
    wait: {
      prepareNow: { how: 'link', who: 'ops-slack', at: at + minute },
      readiness: {
        counts: { preparing: 1 },
        unready: [{ vm: 'web_3', state: 'preparing', since: at + minute }],
      },
    },
    history: [...seen, { at: at + minute, what: 'prepare_now', note: 'link: ops-slack' }],
  },
  declined: notNow,
  approved: decided,
  'approved by a rule': { decided: byRule, policy: { decide: 'approve', rule: 'short freeze' } },
  'approved after not now': { decided: bySlack, overruled: [declined] },
  'approved and passed on': {
    ...decided,
    azure: { accepted },
    history: [...seen, told, directed, passed],
  },
  stuck: {
    decided: { ...approved, at: at + minute },
    azure: { stuckAt: at + 90 * second },
    history: [...seen, { ...told, at: at + minute }, { at: at + 90 * second, what: 'stuck' }],
  },
  'stuck, and its VM is silent': {
    decided: { ...approved, at: at + minute },
    azure: { stuckAt: at + 90 * second },
    unheard: silent,
    history: [...seen, { ...told, at: at + minute }, { at: at + 90 * second, what: 'stuck' }],
  },
  'open, and its VM is silent': { unheard: silent },
  'stuck, Azure refuses': {
    decided: { ...approved, at: at + minute },
    azure: {
      stuckAt: at + 90 * second,
      failure: { vm: 'web_1', outcome: 'rejected', status: 400, at: at + 62 * second },
    },
    history: [
      ...seen,
      { ...told, at: at + minute },
      { at: at + minute + second, what: 'directed', note: 'web_1' },
      { at: at + minute + 2 * second, what: 'start_failed', note: 'web_1: rejected (HTTP 400)' },
      { at: at + 90 * second, what: 'stuck' },
    ],
  },
  'stuck, Azure was told': { ...decided, azure: { accepted, stuckAt: now } },
  'stuck, and Azure was told since': {
    ...decided,
    azure: { accepted, stuckAt: accepted.at - second },
  },
  'approved, Azure refuses': {
    ...decided,
    azure: { failure: { vm: 'web_1', outcome: 'rejected', status: 500, at: at + 62 * second } },
  },
  'passed on, hits more since': {
    azure: { accepted },
    facts: { ...usual, resources: ['web_3', 'db_0'] },
    decided: { ...approved, scope: { eventType: 'Reboot', resources: ['web_3'] } },
  },
  'expired, to decide again': {
    facts: { ...usual, resources: ['web_3', 'db_0'] },
    overruled: [
      {
        ...approved,
        expiredAt: now - second,
        scope: { eventType: 'Reboot', resources: ['web_3'] },
      },
    ],
  },
  'back after its end': { epoch: 2 },
  started: running,
  'already running when first seen': {
    phase: 'started',
    started: { at, kind: 'already_running' },
  },
  'started without notice': { phase: 'started', started: { at, kind: 'none' } },
  completed: {
    ...running,
    phase: 'completed',
    ended: { at: startedAt + 20 * second, outcome: 'completed' },
  },
  'completed, a hook failed after it': {
    ...running,
    phase: 'completed',
    ended: { at: startedAt + 20 * second, outcome: 'completed' },
    wait: {
      readiness: {
        counts: { ready: 1 },
        unready: [],
        restore: {
          counts: { failed: 1 },
          failed: [{ vm: 'web_3', state: 'failed', since: startedAt + 40 * second, exitCode: 1 }],
        },
      },
    },
  },
  cancelled: {
    phase: 'cancelled',
    history: [
      ...seen,
      { at: at + 2 * minute, what: 'gone', note: 'web_0' },
      { at: at + 2 * minute, what: 'cancelled', note: 'gone_before_its_time' },
    ],
    ended: { at: at + 2 * minute, outcome: 'cancelled', inferred: 'gone_before_its_time' },
  },
  lost: {
    phase: 'completed',
    ended: { at: at + 2 * minute, outcome: 'lost', inferred: 'nobody_left_to_see' },
  },
  'lost, with a name that hides something': {
    facts: { ...usual, resources: ['web\u200b_\u202e0\u{e0041}'] },
    ended: { at: at + 2 * minute, outcome: 'lost', inferred: 'nobody_left_to_see' },
  },
  drill: { drill: aDrill, policy: { decide: 'ask', rule: 'default' } },
  'drill, not run': {
    drill: aDrill,
    phase: 'cancelled',
    ended: { at: at + 2 * minute, outcome: 'cancelled', inferred: 'drill_overdue' },
  },
  'drill, approved': { ...decided, drill: aDrill },
  'hostile names': {
    facts: {
      ...usual,
      resources: ['<script>alert(1)</script>', '\u202ereversed\u200b\u{e0041}', 'x'.repeat(200)],
      eventType: 'Tele\u2060port\u202e',
      description: '"><img src=x onerror=alert(1)>\r\nSet-Cookie: a=b',
    },
  },
}

const viewers: Record<string, Viewer> = {
  'identity needed': bare,
  'identity needed, with sign-in': { ...bare, signInUrl: '/.auth/login/aad' },
  'only in Slack': slackOnly,
  'only in Slack, without buttons': { ...slackOnly, ways: [{ ...inSlack, channels: [] }] },
  'not listed': { permission: 'not_listed', ways: ['sign_in'], name: 'Ada Example' },
}

const tries: Record<string, [string, Fields]> = {
  'decided now': ['You approved it.', decided],
  'declined now': ['You left it to Azure.', notNow],
  'too quick': [
    'Nothing was decided: the page had just changed. Check it and press again.',
    notNow,
  ],
  'moved on': [
    'Nothing was decided: after you opened this page, the event changed or somebody decided it. Check it and decide again.',
    { facts: { ...usual, resources: ['web_3', 'web_4'] } },
  ],
  'too late': ['Too late to decide: the event has started.', running],
}

function seenAs(course: Fields, changes: Partial<Seen> = {}): Seen {
  const shown = record({ facts: usual, history: seen, ...course })
  return { record: shown, viewer: allowed, form: 'stamp.mac', listed: false, ...changes }
}

const dead = Object.keys(deadLinks) as DeadLink[]

const list = [
  seenAs({}),
  seenAs(
    { ...decided, facts: { ...usual, resources: ['web_4', 'web_5'] } },
    { said: 'You approved it.', done: true },
  ),
  seenAs({ eventId: 'c7061bac-afdc-4513-b24b-aa5f13a16124', ...notNow }),
  seenAs({ facts: { ...usual, resources: ['db_1'] } }, { viewer: slackOnly, listed: true }),
  seenAs({ ...decided, azure: { accepted }, facts: { ...usual, resources: ['db_0'] } }),
  undefined,
]

const live = { now, refreshSeconds: 5 }

type Scene = [name: string, page: ReturnType<typeof eventPage>]

/** HTML by the name of the state. */
export async function pageScenes(): Promise<Record<string, string>> {
  const pages: Scene[] = [
    ...entries(courses, (course) => eventPage(seenAs(course), live)),
    ...entries(viewers, (viewer) => eventPage(seenAs({}, { viewer }), live)),
    ...entries(tries, ([said, course]) =>
      eventPage(seenAs(course, { said, done: said.startsWith('You') }), live),
    ),
    ...dead.map((name): Scene => [name.replace('_', ' '), deadPage(name)]),
    ['busy', busyPage()],
    ['a list', listPage(list, live)],
  ]
  const texts = pages.map(async ([name, page]) => [name, String(await page)])
  return Object.fromEntries(await Promise.all(texts))
}

function entries<T, R>(from: Record<string, T>, map: (value: T) => R): [string, R][] {
  return Object.entries(from).map(([name, value]) => [name, map(value)])
}
