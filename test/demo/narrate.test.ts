// What the demo says of each log line: only what that line proves.
import { expect, test } from 'vitest'
import { describeEntry } from './narrate.ts'

const entry = (event: string, more: object) => ({ time: '', level: 'info', event, ...more })

test('a beacon that sees an event has not reported it yet: the relay may hear another one first', () => {
  const seen = { status: 'Scheduled', eventType: 'Reboot', resources: ['web_1'] }
  expect(describeEntry('web_2', entry('event_seen', seen), 'node')).toBe(
    'sees a Reboot of web_1: Scheduled',
  )
  expect(
    describeEntry('relay', entry('event_stepped', { vm: 'web_1', moments: ['scheduled'] }), 'node'),
  ).toBe('hears of it from web_1, and notifies each channel once: scheduled')
})

test('minor lines are left out, trouble is not', () => {
  expect(describeEntry('relay', entry('delivered', {}), 'node')).toBeUndefined()
  const trouble = { ...entry('report_refused', { vm: 'web_9' }), level: 'warn' }
  expect(describeEntry('relay', trouble, 'node')).toBe('warning: report refused')
})

test('the store is that of the host', () => {
  const started = entry('relay_started', {})
  expect(describeEntry('relay', started, 'node')).toContain('SQLite')
  expect(describeEntry('relay', started, 'azure')).toContain('Azurite')
  expect(describeEntry('relay', started, 'cloudflare')).toContain('Durable Object')
})
