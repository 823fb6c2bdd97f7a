// One example of webhooks' `data` for each moment, in the public schema. The types and a test
// keep them valid.

import type { EventData } from '../core/message/cloud-event.ts'
import { alertExamples as ofFeatures } from '../features/alerts.ts'
import type { AlertData } from './alert.ts'

const eventId = 'c7061bac-afdc-4513-b24b-aa5f13a16123'
const base = 'https://foghorn.example.com'

const scheduled: EventData = {
  moment: 'scheduled',
  fleet: 'prod',
  eventId,
  epoch: 1,
  sequence: 1,
  phase: 'scheduled',
  eventType: 'Reboot',
  source: 'Platform',
  resources: ['web_3'],
  vms: [
    {
      name: 'web_3',
      vmId: '0f9c1a52-5f0e-4a0e-9d3e-0c6f4a1b2c3d',
      subscriptionId: '8d10da13-8125-4ba9-a717-bf7490507b3d',
      resourceGroup: 'rg-web',
      scaleSet: 'web',
      placementGroup: 'f67c14ab-e92c-408c-ae2d-da15866ec79a',
      zone: '1',
      tags: { role: 'web', team: 'shop' },
    },
  ],
  notBefore: '2026-11-21T12:15:00.000Z',
  durationSeconds: -1,
  description: 'Virtual machine is going to be restarted.',
  policy: { decide: 'ask', rule: 'everything else' },
  firstSeenAt: '2026-11-21T12:00:00.000Z',
  approvals: [],
  links: {
    page: `${base}/console/events/prod/${eventId}`,
    api: `${base}/v1/events/prod/${eventId}`,
  },
}

const approval: EventData['approvals'][number] = {
  decision: 'approved',
  how: 'link',
  who: 'ops-slack',
  at: '2026-11-21T12:01:00.000Z',
}

const later: EventData = { ...scheduled, observers: 11 }
const changed: EventData = {
  ...later,
  moment: 'changed',
  sequence: 2,
  notBefore: '2026-11-21T13:15:00.000Z',
}
const approved: EventData = { ...later, moment: 'approved', sequence: 3, approvals: [approval] }
const started: EventData = {
  ...approved,
  moment: 'started',
  sequence: 5,
  phase: 'started',
  startedAt: '2026-11-21T12:01:10.000Z',
  azureAccepted: { vm: 'web_0', at: '2026-11-21T12:01:02.000Z' },
}

export const eventExamples: Record<EventData['moment'], EventData> = {
  scheduled,
  changed,
  not_ready: {
    ...later,
    moment: 'not_ready',
    sequence: 4,
    vms: later.vms.map((vm) => ({ ...vm, readiness: 'failed' })),
    policy: { decide: 'ask', rule: 'drained', whenReady: true },
    readiness: {
      counts: { failed: 1 },
      unready: [
        {
          vm: 'web_3',
          state: 'failed',
          since: '2026-11-21T12:02:30.000Z',
          exitCode: 3,
          note: 'still 12 connections',
        },
      ],
    },
    notReady: { at: '2026-11-21T12:02:30.000Z', rule: 'drained', why: 'cannot_be_ready' },
  },
  reminder: { ...later, moment: 'reminder', sequence: 3 },
  approved,
  declined: {
    ...later,
    moment: 'declined',
    sequence: 3,
    approvals: [{ ...approval, decision: 'declined' }],
  },
  stuck: { ...approved, moment: 'stuck', sequence: 4 },
  started,
  completed: {
    ...started,
    moment: 'completed',
    sequence: 6,
    phase: 'completed',
    endedAt: '2026-11-21T12:02:00.000Z',
    outcome: 'completed',
  },
  cancelled: {
    ...later,
    moment: 'cancelled',
    sequence: 4,
    phase: 'cancelled',
    endedAt: '2026-11-21T12:05:00.000Z',
    outcome: 'cancelled',
    inferred: 'gone_before_its_time',
  },
  lost: {
    ...later,
    moment: 'lost',
    sequence: 4,
    endedAt: '2026-11-21T12:30:00.000Z',
    outcome: 'lost',
    inferred: 'nobody_left_to_see',
  },
  alert: {
    ...later,
    moment: 'alert',
    about: {
      channel: 'ops-slack',
      moment: 'scheduled',
      state: 'refused',
      reason: 'HTTP 404: no_service',
      health: 'refusing',
    },
  },
}

export const alertExamples: AlertData[] = [...ofFeatures]
