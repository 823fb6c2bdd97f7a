import { expect, test } from 'vitest'
import { isNearlyFull } from '../../functions/core/disk.ts'

const gb = 1_000_000_000

test.each<[string, number, number, boolean, boolean]>([
  ['of 1 TB with 2 GB free', 2 * gb, 1_000 * gb, false, false],
  ['of 1 TB with less', 2 * gb - 1, 1_000 * gb, false, true],
  ['of 1 TB that was nearly full, with a little more', 2.3 * gb, 1_000 * gb, true, true],
  ['of 1 TB that was nearly full, with 2.4 GB', 2.4 * gb, 1_000 * gb, true, false],
  ['of 5 GB with a tenth', 0.5 * gb, 5 * gb, false, false],
  ['of 5 GB with less than a tenth', 0.49 * gb, 5 * gb, false, true],
  ['that is full', 0, 20 * gb, false, true],
  ['of a system that reports no size', 0, 0, false, false],
])('a disk %s', (_, freeBytes, totalBytes, wasOn, isOn) => {
  expect(isNearlyFull({ freeBytes, totalBytes }, wasOn)).toBe(isOn)
})
