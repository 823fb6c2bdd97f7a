// Variants of the messages in `test/notify/golden/messages.txt`: other types, other causes, unknown values.
// `variants.txt` has their texts. Look at a change before you accept it:
//   FOGHORN_GOLDEN=write npm test -- test/core/message/variants.test.ts
import { expect, test } from 'vitest'
import type {
  Decided,
  EventRecord,
  Inference,
  OpenRecord,
} from '../../../functions/core/event/event.ts'
import type { Facts } from '../../../functions/core/event/facts.ts'
import type { Moment } from '../../../functions/core/event/moment.ts'
import { toShown } from '../../../functions/core/event/shown.ts'
import { withValues } from '../../../functions/core/event/values.ts'
import { type EventView, toView } from '../../../functions/core/event/view.ts'
import { type Askers, listAskers } from '../../../functions/core/message/askers.ts'
import { compose, composeButton } from '../../../functions/core/message/message.ts'
import { goldenTexts } from '../../support/golden.ts'
import { aDrill, at, type Fields, facts, record, sight } from '../../support/records.ts'

const minute = 60_000
const day = 1_440 * minute
const dueAt = at + 15 * minute
const past = dueAt + minute
const approved: Decided = { decision: 'approved', how: 'link', who: 'ops', at }
const declined: Decided = { ...approved, decision: 'declined' }
const accepted = { vm: 'web_9', at }
const webs = (count: number) => [...Array(count).keys()].map((i) => `web_${i}`)
const timeless = (({ notBeforeAt: _, ...rest }: Facts): Facts => rest)(facts())

interface Setting {
  now?: number
  /** When the message was planned. Absent: now. */
  plannedAt?: number
  view?: Partial<EventView>
  askers?: Askers
}

const texts: Record<string, string> = {}

/** Adds a variant: its title, lines, button, and the facts that the usual message does not have. */
function add(
  name: string,
  moment: Moment,
  course: Fields | EventRecord,
  setting: Setting = {},
): void {
  const { now = at, plannedAt = now, view = {}, askers } = setting
  const event = { ...toView(record(course as Fields)), ...view }
  const message = compose({ moment, at: plannedAt, event }, now, [], askers)
  const own = message.facts.map((fact) => `- ${fact.name}: ${fact.value}`)
  texts[name] = [
    `# ${message.title} [${composeButton(message)}]`,
    ...message.lines,
    ...own.filter((line) => !usual.includes(line)),
  ].join('\n')
}

const usual = compose({ moment: 'scheduled', at, event: toView(record()) }, at).facts.map(
  ({ name, value }) => `- ${name}: ${value}`,
)

/** *changed*, after a VM that saw the known values sees these, one after the other. */
function change(name: string, steps: Partial<Facts>[], before: Facts = known): void {
  const now = at + minute
  let moved = record({ facts: before })
  for (const changes of steps) {
    const shows = toShown({ ...moved.facts, status: 'Scheduled' })
    const own = sight('web_0', { shows, polledAt: now })
    const shown = { ...moved.facts, ...changes, status: 'Scheduled' as const }
    const old = { ...(moved as OpenRecord), sights: [own] }
    moved = withValues(old, own, shown, { now, listeningSince: 0 })
  }
  add(`changed: ${name}`, 'changed', moved, { now })
}

const known = facts({ resources: ['web_0', 'web_2'], durationSeconds: 5 })

add('advice: nobody decides', 'scheduled', {
  facts: facts({ eventType: 'SpotRebalanceRecommendation' }),
  policy: { decide: 'notify', rule: 'default' },
})

add('decided after NotBefore: not now', 'declined', { decided: declined }, { now: past })
add('decided after NotBefore: approved', 'approved', { decided: approved }, { now: past })
for (const lateMs of [minute, minute + 1, 20 * minute]) {
  add(`${lateMs / 1_000} s late`, 'scheduled', {}, { now: at + lateMs, plannedAt: at })
}
const late = { now: at + 12 * minute, plannedAt: at }
add('late, and asks for nothing', 'approved', { decided: approved }, late)
const rule = { decide: 'approve', rule: 'own' } as const
add('a rule approves', 'scheduled', { policy: rule })
add('not now, although a rule approves', 'scheduled', { policy: rule, decided: declined })
add('not now', 'scheduled', { decided: declined })
add('already approved', 'scheduled', { decided: approved })
add('only notified', 'scheduled', { policy: { decide: 'notify', rule: 'own' } })
add('time unknown', 'declined', { facts: timeless, decided: declined })
for (const days of [1, 6]) {
  for (const eventType of ['Redeploy', 'Reboot', 'Freeze']) {
    const far = facts({ eventType, notBeforeAt: at + days * day })
    add(`${eventType} in ${days} d`, 'scheduled', { facts: far })
  }
}
const asked = facts({ eventType: 'Redeploy', notBeforeAt: at + 6 * day, source: 'User' })
add('Redeploy in 6 d, asked for by a user', 'scheduled', { facts: asked })
for (const [spared, hit] of [
  [11, 1],
  [1, 3],
  [0, 3],
  [0, 1],
] as const) {
  const course = { facts: facts({ resources: webs(hit) }) }
  add(`${spared} others see it, ${hit} hit`, 'reminder', course, { view: { spared } })
}
add('100 VMs, no reason', 'scheduled', { facts: facts({ resources: webs(100), description: ' ' }) })
for (const durationSeconds of [0, 9]) {
  add(`${durationSeconds} s`, 'scheduled', { facts: facts({ durationSeconds }) })
}

const failed = (outcome: 'unreachable' | 'rejected' | 'not_scheduled' | 'not_as_approved') => ({
  ...{ vm: 'web_7', outcome, at },
  ...(outcome === 'rejected' && { status: 400 }),
})
const stuck = (name: string, course: Fields, now = at) =>
  add(`stuck: ${name}`, 'stuck', { decided: approved, ...course }, { now })
stuck('no VM could tell Azure', {}, past)
stuck('Azure did not answer', { azure: { failure: failed('unreachable') } })
stuck(
  'Azure was told, and refuses since',
  { azure: { accepted, failure: failed('rejected') } },
  past,
)
stuck('the VM does not see it as scheduled', { azure: { failure: failed('not_scheduled') } })
stuck('the VM sees something else', { azure: { failure: failed('not_as_approved') } })
stuck('told, of two', { azure: { accepted }, facts: facts({ resources: webs(2) }) }, past)
for (const count of [3, 6, 60]) stuck(`${count} VMs`, { facts: facts({ resources: webs(count) }) })

const begun = (course: Fields = {}, startedAt = at): Fields => ({
  ...{ phase: 'started', started: { at: startedAt } },
  ...course,
})
const kinds = ['none', 'already_running', 'reported_late'] as const
for (const kind of kinds) add(`started: ${kind}`, 'started', begun({ started: { at, kind } }))
for (const eventType of ['Redeploy', 'Terminate', 'Freeze']) {
  for (const resources of [['a'], ['a', 'b']]) {
    const course = {
      started: { at, kind: 'none' as const },
      facts: facts({ eventType, resources }),
    }
    add(`started without notice: ${eventType} of ${resources}`, 'started', begun(course))
  }
}
const byUser = { started: { at, kind: 'none' as const }, facts: facts({ source: 'User' }) }
add('started without notice: asked for by a user', 'started', begun(byUser))
const again = { started: { at, kind: 'already_running' as const }, epoch: 2 }
add('started: back', 'started', begun(again))
add('started: nobody decided', 'started', begun({}, dueAt), { now: dueAt })
add('started: not now', 'started', begun({ decided: declined }, dueAt), { now: dueAt })
const told = begun({ policy: { decide: 'notify', rule: 'own' } }, dueAt)
add('started: nobody was asked', 'started', told, { now: dueAt })
add('started: before its time', 'started', begun({}, at + minute), { now: at + minute })
add('started: approved', 'started', begun({ decided: approved }, dueAt), { now: dueAt })
add('started: Azure named no time', 'started', begun({ facts: timeless }))
const expired = { ...approved, expiredAt: at, scope: { eventType: 'Reboot', resources: ['web_0'] } }
const overruled = [expired]
add('started: the approval had expired', 'started', begun({ overruled }, dueAt), { now: dueAt })

const wider = facts({ resources: ['web_0', 'web_1'] })
add('expired: a VM was added', 'changed', { facts: wider, overruled })
add('expired: other values', 'changed', { overruled })
const noted = { policy: { decide: 'notify', rule: 'own' } } as const
add('expired: nobody is asked', 'changed', { facts: wider, overruled, ...noted })

const forOne = { eventType: 'Reboot', resources: ['web_0'] }
const grown = {
  ...{ decided: { ...approved, scope: forOne }, azure: { accepted } },
  facts: facts({ resources: ['Web_0', 'db_0'] }),
}
const later = { now: at + 2 * minute }
add('Azure was told, then added a VM: scheduled', 'scheduled', grown, later)
add('Azure was told, then added a VM: changed', 'changed', grown, later)
add('Azure was told, then added a VM: started', 'started', begun(grown))
add('a VM was added: started', 'started', begun({ ...grown, azure: {} }))
add('approved as it is: started', 'started', begun({ ...grown, facts: facts() }))
const ofAll = { ...approved, scope: { ...forOne, resources: [] } }
add('approved when it named no VM', 'scheduled', { ...grown, decided: ofAll })

const ends: [Inference, 'completed' | 'cancelled' | 'lost'][] = [
  ['start_not_seen_vm_rebooted', 'completed'],
  ['start_not_seen_approved', 'completed'],
  ['start_not_seen_not_before_passed', 'completed'],
  ['vm_gone', 'completed'],
  ['gone_before_its_time', 'cancelled'],
  ['nobody_left_to_see', 'lost'],
]
for (const [inferred, outcome] of ends) {
  const ended = { at, outcome, inferred }
  add(`${outcome}: ${inferred}`, outcome, { ended })
}
const gone = { at, outcome: 'cancelled', inferred: 'gone_before_its_time' } as const
const moves = facts({ eventType: 'Redeploy', resources: ['a', 'b'] })
add('cancelled: Redeploy of two', 'cancelled', { ended: gone, facts: moves })
add('cancelled: a type nobody knows', 'cancelled', {
  ended: gone,
  facts: facts({ eventType: 'Teleport' }),
})
const lost = { at, outcome: 'lost', inferred: 'nobody_left_to_see' } as const
add('lost: asked for by a user', 'lost', { ended: lost, facts: facts({ source: 'User' }) })

change('moved', [{ notBeforeAt: at + 60 * minute }])
change('moved to another day', [{ notBeforeAt: at + 14 * 60 * minute }])
change('a VM added', [{ resources: ['web_0', 'WEB_2', 'web_4'] }])
change('a VM gone', [{ resources: ['web_0'] }])
change('one VM for another', [{ resources: ['web_0', 'web_4'] }])
change('longer', [{ durationSeconds: 30 }])
change('no interruption', [{ durationSeconds: 0 }])
change('duration no longer known', [{ durationSeconds: -1 }])
change('duration was unknown', [{ durationSeconds: 30 }], facts({ durationSeconds: -1 }))
change('another reason', [{ description: 'Another one.' }])
change('moved, and another reason', [
  { notBeforeAt: at + 60 * minute, description: 'Another one.' },
])
change('its time was unknown', [{ notBeforeAt: at + 60 * minute }], timeless)
change('only the newest is described', [{ notBeforeAt: at + 60 * minute }, { durationSeconds: 30 }])

const services = { slack: 'Slack' }
const people: [string, Askers][] = [
  ['in Slack', listAskers(['slack:T0HOME/U0ADA'], services, true)],
  ['on the page', listAskers(['entra:t/o', 'entra:t/p'], services, true)],
  ['in Slack or on the page', listAskers(['slack:T0HOME/U0ADA', 'entra:t/o'], services, true)],
  ['by nobody on a list', listAskers([], services, true)],
  ['with buttons in the message', 'pressers'],
]
for (const [how, askers] of people) {
  add(`decided ${how}`, 'scheduled', {}, { askers })
  add(`decided ${how}, after not now`, 'declined', { decided: declined }, { askers })
}

const ofDrill: [Moment, Fields][] = [
  ['scheduled', {}],
  ['changed', {}],
  ['reminder', {}],
  ['approved', { decided: approved }],
  ['declined', { decided: declined }],
  ['started', begun({}, dueAt)],
  ['completed', { ended: { at, outcome: 'completed' } }],
]
for (const [moment, course] of ofDrill)
  add(`drill: ${moment}`, moment, { drill: aDrill, ...course })

const golden = goldenTexts(new URL('variants.txt', import.meta.url), texts)

test('there is no other text', () => {
  expect(Object.keys(golden)).toEqual(Object.keys(texts))
})

test.each(Object.keys(texts))('%s', (name) => {
  expect(texts[name]).toBe(golden[name])
})
