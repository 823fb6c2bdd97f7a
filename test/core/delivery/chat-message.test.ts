import { expect, test } from 'vitest'
import {
  type ChatMessage,
  type ChatMessageState,
  nextStep,
} from '../../../functions/core/delivery/chat-message.ts'
import { at } from '../../support/records.ts'

const posted = { is: 'posted' as const, to: 'C1', place: 'C1', message: '1.1' }

const table: [string, ChatMessageState | undefined, string][] = [
  ['nothing is posted', undefined, 'post'],
  ['an attempt has ended without one', { is: 'absent', by: 'x' }, 'post'],
  ['another worker is posting this message', { is: 'posting', by: 'x', until: at + 1 }, 'wait'],
  [
    'another worker was posting it, but its lease is over',
    { is: 'posting', by: 'x', until: at },
    'post',
  ],
  ['an earlier step is posted', { ...posted, seq: 63 }, 'edit'],
  ['this step is posted', { ...posted, seq: 64 }, 'posted'],
  ['a later step does', { ...posted, seq: 65 }, 'overtaken'],
  ['it is posted in a former channel', { ...posted, seq: 63, to: 'C0' }, 'post'],
  ['a later step is posted in a former channel', { ...posted, seq: 65, to: 'C0' }, 'overtaken'],
]

test.each(table)('%s', (_, state, step) => {
  const message: ChatMessage | undefined = state && { version: 3, state }
  expect(nextStep(message, { seq: 64 }, 'C1', at).step).toBe(step)
})
