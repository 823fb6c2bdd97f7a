// Lines of `check` on a terminal, and as a program reads them.
import { expect, test } from 'vitest'
import { layOut } from '../../../beacon/check.ts'

const line = `ok    reboots      ${'word '.repeat(20).trim()}:`

test('on a terminal, sentences wrap beside their names, and a command stays whole to be copied', () => {
  const command = `az vm update ${'x'.repeat(90)}`
  const lines = layOut(line, command, 80)
  expect(lines.at(-1)).toBe(`${' '.repeat(19)}${command}`)
  const wrapped = lines.slice(0, -1)
  expect(wrapped.length).toBeGreaterThan(1)
  expect(Math.max(...wrapped.map(({ length }) => length))).toBeLessThanOrEqual(80)
  expect(wrapped.slice(1).every((one) => /^ {19}word/.test(one))).toBe(true)
})

test('elsewhere, a finding is one line', () => {
  expect(layOut(line, 'az vm', undefined)).toEqual([`${line} az vm`])
  expect(layOut(line, undefined, undefined)).toEqual([line])
})
