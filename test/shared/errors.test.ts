import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { describeIssues, describePath, FoghornError, messageOf } from '../../shared/errors.ts'

test('an error has a code for the machine and a sentence for the person', () => {
  const cause = new Error('why')
  const error = new FoghornError('state_dir_in_use', 'it is in use', { cause })
  expect(error).toMatchObject({ code: 'state_dir_in_use', message: 'it is in use', cause })
})

test.each([
  [[], '(top level)'],
  [['routes', 0, 'channels', 1], 'routes[0].channels[1]'],
  [[2, 'name'], '[2].name'],
])('the path %j is %s', (path, expected) => {
  expect(describePath(path)).toBe(expected)
})

describe('issues of a parse', () => {
  const schema = z.object({ port: z.number(), routes: z.array(z.object({ key: z.string() })) })
  const describe = (input: unknown, isSecret?: (path: PropertyKey[]) => boolean) => {
    const { error } = schema.safeParse(input)
    return error === undefined ? [] : describeIssues(error, input, isSecret)
  }

  test('say where, what and the value', () => {
    const sentences = describe({ port: 'http', routes: [{ key: 7 }] })
    expect(sentences).toEqual([
      expect.stringMatching(/^port: .*number.* \(found "http"\)$/),
      expect.stringMatching(/^routes\[0\]\.key: .*string.* \(found 7\)$/),
    ])
  })

  test('show no value that is secret, missing or large', () => {
    expect(describe({ port: 'hunter22', routes: [] }, ([key]) => key === 'port')[0]).not.toContain(
      'hunter22',
    )
    expect(describe({ routes: [] })[0]).not.toContain('found')
    expect(describe({ port: { deep: true }, routes: [] })[0]).not.toContain('found')
    expect(describe({ port: 'x'.repeat(500), routes: [] })[0]?.length).toBeLessThan(200)
  })
})

test.each([
  ['text', 'text'],
  [new Error('plain'), 'plain'],
  [new TypeError(''), 'TypeError'],
  [Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED: refused'],
  [new Error('outer', { cause: new Error('inner') }), 'outer (inner)'],
  [undefined, 'undefined'],
])('the message of %s', (thrown, expected) => {
  expect(messageOf(thrown)).toBe(expected)
})
