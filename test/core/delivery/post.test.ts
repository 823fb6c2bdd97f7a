import { expect, test } from 'vitest'
import { nextStep, type Post, type PostState } from '../../../functions/core/delivery/post.ts'
import { at } from '../../support/records.ts'

const posted = { is: 'posted' as const, to: 'C1', place: 'C1', message: '1.1' }

const table: [string, PostState | undefined, string][] = [
  ['nothing stands there', undefined, 'post'],
  ['an attempt has ended without one', { is: 'absent', by: 'x' }, 'post'],
  ['somebody is posting it', { is: 'posting', by: 'x', until: at + 1 }, 'wait'],
  ['somebody was, and its lease is over', { is: 'posting', by: 'x', until: at }, 'post'],
  ['an earlier step stands there', { ...posted, seq: 63 }, 'edit'],
  ['this step does', { ...posted, seq: 64 }, 'posted'],
  ['a later step does', { ...posted, seq: 65 }, 'overtaken'],
  ['it stands in a channel of before', { ...posted, seq: 63, to: 'C0' }, 'post'],
  ['a later step stands in a channel of before', { ...posted, seq: 65, to: 'C0' }, 'overtaken'],
]

test.each(table)('%s', (_, state, step) => {
  const post: Post | undefined = state && { version: 3, state }
  expect(nextStep(post, { seq: 64 }, 'C1', at).step).toBe(step)
})
