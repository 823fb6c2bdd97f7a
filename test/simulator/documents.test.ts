import { expect, test } from 'vitest'
import { API_VERSIONS, documentFor, type VisibleEvent } from './documents.ts'

const EVENT: VisibleEvent = {
  id: 'C7',
  type: 'Reboot',
  resources: ['web_0', 'web_1'],
  source: 'User',
  description: 'why',
  durationSeconds: 5,
  notBeforeAt: Date.parse('2022-04-11T22:26:58.900Z'),
  startedAt: null,
}

const BASE = {
  EventId: 'C7',
  EventStatus: 'Scheduled',
  EventType: 'Reboot',
  ResourceType: 'VirtualMachine',
  Resources: ['web_0', 'web_1'],
  NotBefore: 'Mon, 11 Apr 2022 22:26:58 GMT',
}
const PREVIEW = {
  ...BASE,
  Resources: ['_web_0', '_web_1'],
  NotBefore: '2022-04-11T22:26:58Z',
}
const WITH_TEXT = { ...BASE, Description: 'why' }
const WITH_SOURCE = { ...WITH_TEXT, EventSource: 'User' }
const WITH_DURATION = { ...WITH_SOURCE, DurationInSeconds: 5 }

test.each([
  ['2017-03-01', '5', PREVIEW],
  ['2017-08-01', 5, BASE],
  ['2017-11-01', 5, BASE],
  ['2019-01-01', 5, BASE],
  ['2019-04-01', 5, WITH_TEXT],
  ['2019-08-01', 5, WITH_SOURCE],
  ['2020-07-01', 5, WITH_DURATION],
] as const)('%s has its own shape', (version, DocumentIncarnation, event) => {
  expect(documentFor(version, 5, [EVENT])).toEqual({ DocumentIncarnation, Events: [event] })
})

test.each([
  ['Freeze', '2017-03-01'],
  ['Preempt', '2017-11-01'],
  ['Terminate', '2019-01-01'],
  ['SomethingNew', '2017-03-01'],
])('%s is shown since %s', (type, since) => {
  const shown = API_VERSIONS.filter(
    (version) => documentFor(version, 1, [{ ...EVENT, type }]).Events.length === 1,
  )
  expect(shown).toEqual(API_VERSIONS.filter((version) => version >= since))
})

test.each(API_VERSIONS)('%s empties NotBefore once started', (version) => {
  const [event] = documentFor(version, 1, [{ ...EVENT, startedAt: 1 }]).Events
  expect(event).toMatchObject({ EventStatus: 'Started', NotBefore: '' })
})
