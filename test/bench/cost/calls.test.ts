// How many storage calls a step of the relay may take on Azure Functions. Each costs money and time.
import { expect, test } from 'vitest'
import { measureCalls } from './calls.ts'

const limits = {
  heartbeat: 2,
  // one of them reads what features need
  'first report of an event, without its messages': 8,
  'its two messages': 7,
  'its message to a channel with a rate': 5,
  'looks at a channel that waits for its rate': 6,
  // it is no longer the only beacon that reports the event
  "second VM's report": 8,
  'report of one of the first four onlookers': 6,
  "a further onlooker's report": 5,
  // no more than a beacon's
  'first notification of Event Grid, without its messages': 6,
  'the same notification again': 2,
  // soon after a notification it is read, and that is noted
  "each minute: whether to read Azure's list": 3,
}

test('no step takes more storage calls than it may', async () => {
  const steps = await measureCalls()
  expect(Object.keys(steps)).toEqual(Object.keys(limits))
  for (const [name, most] of Object.entries(limits)) {
    const calls = steps[name]!
    expect(calls.length, `${name}:\n${calls.join('\n')}`).toBeLessThanOrEqual(most)
  }
})
