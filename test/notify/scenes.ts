// Typical messages: each moment with the event that leads to it, and special cases: lists, channels
// in trouble, late and skipped messages, scale sets, hostile names.
import { planChannelTest } from '../../functions/core/delivery/alert.ts'
import { type Notification, noFleet } from '../../functions/core/delivery/delivery.ts'
import { makeStamp } from '../../functions/core/event/approval.ts'
import type { Decided } from '../../functions/core/event/event.ts'
import type { Moment } from '../../functions/core/event/moment.ts'
import { toView } from '../../functions/core/event/view.ts'
import type { Outgoing, Part } from '../../functions/notify/notifier.ts'
import { alertScenes } from '../features/scenes.ts'
import { aDrill, at, type Fields, facts, record } from '../support/records.ts'
import { eventId } from '../support/world.ts'
import { sent } from './sent.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** NotBefore of the usual event, which was first seen at `at`. */
const dueAt = at + 15 * minute

const usual = facts({ resources: ['web_3'], notBeforeAt: dueAt })

const approved: Decided = { decision: 'approved', how: 'link', who: 'ops-slack', at: at + minute }
const declined: Decided = { ...approved, decision: 'declined' }
const byRule: Decided = { decision: 'approved', how: 'policy', who: 'short freeze', at }

interface Setting {
  moment: Moment
  /** Since the event was first seen. */
  afterMs?: number
  /** Changes to the usual event. */
  course?: Fields
  spared?: number
  /** What its node of Kubernetes ran. */
  workloads?: string[]
  /** Between the moment and the message. */
  lateMs?: number
  skipped?: Moment[]
  insteadOf?: string
  /** The message has buttons that decide. */
  decides?: boolean
  /** Moments that the channel was notified of before. */
  heard?: Moment[]
}

/** Each is one message about one event. */
const settings: Record<string, Setting> = {
  scheduled: { moment: 'scheduled' },
  'a node of Kubernetes': { moment: 'scheduled', workloads: ['data/db', 'shop/api', 'shop/web'] },
  changed: {
    moment: 'changed',
    afterMs: 4 * minute,
    course: {
      facts: { ...usual, notBeforeAt: at + hour },
      changed: { at: at + 4 * minute, names: ['notBeforeAt'], from: { notBeforeAt: dueAt } },
    },
    spared: 11,
  },
  not_ready: {
    moment: 'not_ready',
    afterMs: 6 * minute,
    course: {
      facts: { ...usual, resources: ['web_3', 'web_7', 'db_0'] },
      policy: { decide: 'ask', rule: 'drained', whenReady: true },
      wait: {
        notReady: { at: at + 6 * minute, rule: 'drained', why: 'cannot_be_ready' },
        readiness: {
          counts: { failed: 1, no_hook: 1, ready: 1 },
          unready: [
            {
              vm: 'web_7',
              state: 'failed',
              since: at + 6 * minute,
              exitCode: 3,
              note: 'disk busy',
            },
            { vm: 'db_0', state: 'no_hook' },
          ],
        },
      },
    },
    spared: 11,
  },
  'the VMs disagree': {
    moment: 'not_ready',
    afterMs: 2 * minute,
    course: {
      facts: { ...usual, resources: ['web_3', 'web_7'] },
      policy: { decide: 'ask', rule: 'short freezes' },
      wait: {
        notReady: {
          ...{ at: at + 2 * minute, rule: 'short freezes', why: 'vms_disagree' },
          values: ['source', 'durationSeconds'],
        },
      },
    },
    spared: 11,
  },
  'more VMs than Foghorn decides about': {
    moment: 'scheduled',
    course: {
      facts: { ...usual, resources: [...Array(200).keys()].map((i) => `web_${i}`), vmCount: 340 },
      policy: { decide: 'notify', rule: 'default' },
    },
  },
  reminder: { moment: 'reminder', afterMs: 10 * minute, spared: 11 },
  approved: { moment: 'approved', afterMs: minute, course: { decided: approved }, spared: 11 },
  declined: { moment: 'declined', afterMs: minute, course: { decided: declined }, spared: 11 },
  stuck: { moment: 'stuck', afterMs: 3 * minute, course: { decided: approved }, spared: 11 },
  started: {
    moment: 'started',
    afterMs: 70 * second,
    course: { decided: approved, phase: 'started', started: { at: at + 70 * second } },
    spared: 11,
  },
  completed: {
    moment: 'completed',
    afterMs: 2 * minute,
    course: {
      decided: approved,
      phase: 'completed',
      started: { at: at + 70 * second },
      ended: { at: at + 2 * minute, outcome: 'completed' },
    },
  },
  cancelled: {
    moment: 'cancelled',
    afterMs: 8 * minute,
    course: {
      phase: 'cancelled',
      ended: { at: at + 8 * minute, outcome: 'cancelled', inferred: 'gone_before_its_time' },
    },
  },
  lost: {
    moment: 'lost',
    afterMs: 25 * minute,
    course: {
      phase: 'completed',
      ended: { at: at + 25 * minute, outcome: 'lost', inferred: 'nobody_left_to_see' },
    },
  },
  drill: { moment: 'scheduled', course: { drill: aDrill } },
  'a drill that was not run': {
    moment: 'cancelled',
    afterMs: 90 * minute,
    course: {
      drill: aDrill,
      phase: 'cancelled',
      ended: { at: at + 90 * minute, outcome: 'cancelled', inferred: 'drill_overdue' },
    },
  },
  'a reminder, and its VM is silent': {
    moment: 'reminder',
    afterMs: 10 * minute,
    course: { unheard: { since: at + 4 * minute, vms: ['web_3'], count: 1 } },
  },
  'approved, and its VM is silent': {
    moment: 'approved',
    afterMs: minute,
    course: { decided: approved, unheard: { since: at, vms: ['web_3'], count: 1 } },
  },
  'stuck, its VM is silent': {
    moment: 'stuck',
    afterMs: 90 * second,
    course: { decided: approved, unheard: { since: at, vms: ['web_3'], count: 1 } },
  },
  'stuck, Azure was told': {
    moment: 'stuck',
    afterMs: 12 * minute,
    course: { decided: approved, azure: { accepted: { vm: 'web_0', at: at + 2 * minute } } },
    heard: ['scheduled', 'approved'],
  },
  'stuck, Azure refuses': {
    moment: 'stuck',
    afterMs: 3 * minute,
    course: {
      decided: approved,
      azure: { failure: { vm: 'web_0', outcome: 'rejected', status: 500, at: at + 2 * minute } },
    },
    heard: ['scheduled', 'approved'],
  },
  'hits more since Azure was told': {
    moment: 'changed',
    afterMs: 3 * minute,
    course: {
      facts: { ...usual, resources: ['web_3', 'db_0'] },
      changed: { at: at + 3 * minute, names: ['resources'], from: { resources: ['web_3'] } },
      decided: { ...approved, scope: { eventType: 'Reboot', resources: ['web_3'] } },
      azure: { accepted: { vm: 'web_0', at: at + 2 * minute } },
    },
    heard: ['scheduled', 'approved'],
  },
  'the approval expired': {
    moment: 'changed',
    afterMs: 3 * minute,
    course: {
      facts: { ...usual, resources: ['web_3', 'db_0'] },
      changed: { at: at + 3 * minute, names: ['resources'], from: { resources: ['web_3'] } },
      overruled: [
        {
          ...approved,
          scope: { eventType: 'Reboot', resources: ['web_3'] },
          expiredAt: at + 3 * minute,
        },
      ],
    },
    heard: ['scheduled', 'approved'],
  },
  'back after its end': { moment: 'scheduled', course: { epoch: 2 } },
  'back after its end, and started': {
    moment: 'started',
    afterMs: minute,
    course: { epoch: 2, phase: 'started', started: { at: at + minute } },
    heard: [],
  },
  'deleted without notice': {
    moment: 'started',
    heard: [],
    course: {
      ...{ phase: 'started', started: { at: at, kind: 'none' } },
      facts: { ...noTime(), eventType: 'Terminate', source: 'User', description: '' },
    },
  },
  'a rule waits for hooks': {
    moment: 'scheduled',
    course: {
      facts: { ...usual, resources: ['web_3', 'web_7', 'web_9'] },
      policy: { decide: 'approve', rule: 'drained', whenReady: true },
      wait: {
        readiness: {
          counts: { awaited: 1, preparing: 1, ready: 1 },
          unready: [
            { vm: 'web_9', state: 'awaited' },
            { vm: 'web_7', state: 'preparing', since: at },
          ],
        },
      },
    },
  },
  'a rule waits for its turn': {
    moment: 'scheduled',
    course: {
      policy: { decide: 'approve', rule: 'one at a time', maxConcurrent: 1 },
      wait: {
        slot: { state: 'waits', behind: ['web_7'], at },
      },
    },
  },
  'no turn in time': {
    moment: 'not_ready',
    afterMs: 14 * minute,
    course: {
      policy: { decide: 'ask', rule: 'one at a time', whenReady: true, maxConcurrent: 1 },
      wait: {
        slot: { state: 'waits', behind: ['web_7'], at },
        notReady: { at: at + 14 * minute, rule: 'one at a time', why: 'no_turn_in_time' },
        readiness: {
          counts: { planned: 1 },
          unready: [{ vm: 'web_3', state: 'planned', since: at }],
        },
      },
    },
  },
  'the time of the rule is over': {
    moment: 'not_ready',
    afterMs: 3 * minute,
    course: {
      policy: { decide: 'ask', rule: 'at night', whenReady: true },
      wait: {
        notReady: { at: at + 3 * minute, rule: 'at night', why: 'time_over' },
        readiness: {
          counts: { planned: 1 },
          unready: [{ vm: 'web_3', state: 'planned', since: at }],
        },
      },
    },
  },
  'approved by a person before all VMs were ready': {
    moment: 'approved',
    afterMs: minute,
    course: {
      facts: { ...usual, resources: ['web_3', 'web_7'] },
      decided: approved,
      wait: {
        readiness: {
          counts: { preparing: 1, ready: 1 },
          unready: [{ vm: 'web_7', state: 'preparing', since: at }],
        },
      },
    },
  },
  'started, many hooks failed': {
    moment: 'started',
    afterMs: 15 * minute,
    course: {
      facts: { ...usual, resources: [...Array(6).keys()].map((i) => `web_${i}`) },
      phase: 'started',
      started: { at: at + 15 * minute },
      wait: {
        readiness: {
          counts: { failed: 4, refused: 1, ready: 1 },
          unready: [...Array(5).keys()].map((i) => ({
            ...{ vm: `web_${i}`, state: i === 4 ? ('refused' as const) : ('failed' as const) },
            ...{ since: at, note: i === 1 ? '<!channel> *out*' : '' },
          })),
        },
      },
    },
  },
  'a set: some of its VMs': {
    moment: 'reminder',
    afterMs: 10 * minute,
    course: { facts: { ...usual, resources: ['web_3', 'web_7'], durationSeconds: 30 } },
    spared: 10,
  },
  'in place of a channel that refuses': { moment: 'scheduled', insteadOf: 'ops-teams' },
  'started without notice': {
    moment: 'started',
    heard: [],
    course: { phase: 'started', started: { at: at, kind: 'none' }, facts: noTime() },
  },
  'failing hardware': {
    moment: 'scheduled',
    course: {
      facts: {
        ...usual,
        eventType: 'Redeploy',
        notBeforeAt: at + 6 * day,
        description: 'The host of this virtual machine has degraded hardware.',
      },
    },
  },
  'short freeze, approved by a rule': {
    moment: 'scheduled',
    course: { ...freeze(5), policy: { decide: 'approve', rule: 'short freeze' }, decided: byRule },
  },
  'short freeze, the approval': {
    moment: 'approved',
    course: { ...freeze(5), policy: { decide: 'approve', rule: 'short freeze' }, decided: byRule },
  },
  'freeze of unknown length': { moment: 'scheduled', course: freeze(-1) },
  'Spot VM, told only': {
    moment: 'scheduled',
    course: {
      facts: { ...usual, eventType: 'Preempt', notBeforeAt: at + 30 * second, description: '' },
      policy: { decide: 'notify', rule: 'too short to ask' },
    },
  },
  'deletion asked for by a user': {
    moment: 'scheduled',
    course: { facts: { ...usual, eventType: 'Terminate', source: 'User', description: '' } },
  },
  'a type nobody knows': {
    moment: 'scheduled',
    course: { facts: { eventType: 'Teleport', resources: [], durationSeconds: 0 } },
  },
  'completed, by inference': {
    moment: 'completed',
    afterMs: 20 * minute,
    course: {
      phase: 'completed',
      ended: {
        at: at + 20 * minute,
        outcome: 'completed',
        inferred: 'start_not_seen_vm_rebooted',
      },
    },
  },
  late: { moment: 'scheduled', lateMs: 12 * minute },
  'skipped stages': {
    moment: 'started',
    afterMs: 15 * minute,
    course: { phase: 'started', started: { at: at + 15 * minute } },
    lateMs: 5 * minute,
    skipped: ['scheduled', 'reminder'],
    heard: [],
  },
  'hostile names': {
    moment: 'scheduled',
    course: {
      facts: {
        ...usual,
        resources: [
          '<!channel> @everyone',
          '*bold* _it_ ~x~ `code` [x](https://evil.example)',
          'web\u200b_0\u{e0041} www.evil.example',
        ],
        description:
          '> :skull: <script>alert(1)</script> \u202ereversed\u202c {{DATE(2020-01-01T00:00:00Z)}} \ud83d',
      },
    },
  },
  'decided in Slack': { moment: 'scheduled', decides: true },
  'decided in Slack, after not now': {
    moment: 'declined',
    afterMs: minute,
    course: { decided: { ...declined, how: 'slack', who: 'T0123ABCD/U0123ABCD' } },
    decides: true,
  },
  'decided in Slack, much of everything': {
    moment: 'reminder',
    course: {
      facts: {
        ...usual,
        resources: [...Array(24).keys()].map((i) => `<a name> as & long as owners make them ${i}`),
      },
    },
    decides: true,
  },
  'much of everything': {
    moment: 'scheduled',
    course: {
      facts: {
        ...usual,
        resources: [...Array(400).keys()].map((i) => `a-name-as-long-as-owners-make-them-${i}`),
        description: 'Words that go on and on. '.repeat(150),
      },
    },
  },
}

function noTime() {
  const { notBeforeAt: _n, ...rest } = usual
  return rest
}

function freeze(durationSeconds: number) {
  const description =
    'Virtual machine is being paused because of a memory-preserving Live Migration operation.'
  return { facts: { ...usual, eventType: 'Freeze', durationSeconds, description } }
}

function outgoingOf(name: string, setting: Setting): Outgoing {
  const { moment, afterMs = 0, course = {}, spared, lateMs = 0, skipped = [], insteadOf } = setting
  const { workloads } = setting
  const event = {
    ...toView(record({ facts: usual, ...course })),
    ...(spared === undefined ? {} : { spared }),
    ...(workloads && { vms: [{ name: 'web_3', node: 'web000003', workloads }] }),
  }
  const notification: Notification = {
    ...{ moment, at: at + afterMs, event },
    ...(insteadOf && { insteadOf }),
  }
  const { heard = moment === 'scheduled' ? [] : ['scheduled'] } = setting
  const id = `prod/${eventId}/1/${encodeURIComponent(name)}/ops`
  const askers = setting.decides ? 'pressers' : 'readers'
  const one = sent(id, notification, { lateMs, skipped, heard, askers })
  if (!setting.decides) return one
  const notNow = event.decided === undefined
  const value = `key.content.mac:${makeStamp(event)}`
  return { ...one, buttons: { value, notNow } }
}

function notice(state: string, reason: string, health?: 'refusing' | 'unreachable'): Outgoing {
  const event = toView(record({ facts: usual }))
  const what = { channel: 'ops-teams', moment: 'scheduled' as const, state, reason }
  const about = { ...what, ...(health && { health }) }
  return sent('prod/e/1/scheduled/ops-teams/notice/ops', { moment: 'alert', at, event, about })
}

function channelTest(): Outgoing {
  const { id, notification } = planChannelTest([], noFleet, { channel: 'ops', by: 'admin' }, at)!
  return sent(id, notification)
}

/** As many as a chat is told in one message, of several moments. */
function list(names: string[]): Outgoing {
  const [first, ...also] = names.map((name) => outgoingOf(name, settings[name]!))
  const parts: Part[] = also.map(({ also: _a, now: _n, signal: _s, ...part }) => part)
  return { ...first!, also: parts, listUrl: 'https://foghorn.example/approve/list-token' }
}

/** By name; the first eleven are the moments, in their order. */
export const scenes: Record<string, Outgoing> = {
  ...Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [name, outgoingOf(name, setting)]),
  ),
  'a channel refused one message': notice('refused', 'HTTP 400: invalid_payload'),
  'a channel refuses everything': notice(
    'refused',
    'HTTP 404: Slack no longer knows this webhook: no_service',
    'refusing',
  ),
  'a channel cannot be reached': notice('pending', 'no answer in time', 'unreachable'),
  'a list': list([
    'scheduled',
    'short freeze, the approval',
    'started without notice',
    'completed',
  ]),
  ...alertScenes,
  'a test of a channel': channelTest(),
}
