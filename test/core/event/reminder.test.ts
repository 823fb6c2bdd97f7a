// Which reminder is due: each distance at its own second, and of several only the nearest is sent.
import { describe, expect, test } from 'vitest'
import { nextReminder, remind } from '../../../functions/core/event/reminder.ts'
import { at, facts, openRecord } from '../../support/records.ts'

const second = 1_000
const notBeforeAt = at + 3_600 * second
const record = openRecord({ facts: facts({ notBeforeAt }) })
const distances = [600, 120, 90]

describe('seconds before NotBefore', () => {
  test.each<[number, number[]]>([
    [600.001, []],
    [600, [600]],
    [120.001, [600]],
    [120, [600, 120]],
    [90.001, [600, 120]],
    [90, [600, 120, 90]],
    [0.001, [600, 120, 90]],
    [0, []],
  ])('%d', (seconds, due) => {
    const reminded = remind(record, distances, notBeforeAt - seconds * second)
    expect(reminded?.reminders).toEqual(
      due.length === 0
        ? undefined
        : { passed: due, last: { beforeSeconds: due.at(-1), due, late: false } },
    )
  })
})

test('what has passed is not due again, and the next one is', () => {
  const passed = { ...record, reminders: { passed: [600] } }
  expect(nextReminder(passed, distances)?.at).toBe(notBeforeAt - 120 * second)
  const reminded = remind(passed, distances, notBeforeAt - 100 * second)
  expect(reminded?.reminders).toMatchObject({ passed: [600, 120], last: { due: [120] } })
})

test.each([
  [120, true],
  [121, false],
])('people who were asked %d s before NotBefore have heard of it: %s', (seconds, late) => {
  const asked = { ...record, firstSeenAt: notBeforeAt - seconds * second }
  const reminded = remind(asked, [120], notBeforeAt - 100 * second)
  expect(reminded?.reminders.last?.late).toBe(late)
})
