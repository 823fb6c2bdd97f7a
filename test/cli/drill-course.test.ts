// What the command prints about a drill, and when the drill counts as a success.
import { describe, expect, test } from 'vitest'
import {
  beginning,
  describeResult,
  isOver,
  listNews,
  type Shown,
} from '../../functions/cli/drill-progress.ts'

const at = '2026-11-21T12:00:00.000Z'
const now = Date.parse('2026-11-21T12:00:07.000Z')
type Message = Shown['deliveries'][number]

function message(changes: Partial<Message> = {}): Message {
  const { channel = 'ops', moment = 'scheduled' } = changes
  return {
    ...{
      id: `prod/drill-one/1/${moment}/${channel}`,
      channel,
      moment,
      epoch: 1,
      state: 'delivered',
    },
    ...{ attempts: 1, note: 'HTTP 200', plannedAt: at },
    ...changes,
  }
}

function shown(changes: Partial<Shown> = {}): Shown {
  return {
    ...{ fleet: 'prod', eventId: 'drill-one', epoch: 1, sequence: 3, phase: 'completed' },
    ...{ drill: true, eventType: 'Reboot', resources: ['web_3'], notBefore: at },
    ...{ policy: { decide: 'ask', rule: 'default' }, firstSeenAt: at, approvals: [] },
    ...{ outcome: 'completed', endedAt: at },
    history: [{ at, what: 'seen', note: 'a drill' }],
    deliveries: [message(), message({ moment: 'completed' })],
    ...changes,
  }
}

describe('the first lines name the decision and its reason', () => {
  test.each([
    ['ask', 'default', /Policy: ask, because no rule matches\. People are asked\./],
    ['approve', 'web', /Policy: approve, by rule "web"\. It is approved at once/],
    ['notify', 'web', /Policy: notify, by rule "web"\. Channels are notified and nobody is asked/],
    ['ignore', 'web', /Policy: ignore, by rule "web"\. Nobody is notified/],
  ] as const)('%s', (decide, rule, says) => {
    const lines = beginning(shown({ policy: { decide, rule } }), 'https://foghorn.example')
    expect(lines[0]).toBe('Drill drill-one started on https://foghorn.example')
    expect(lines[1]).toBe(`Reboot of web_3 in fleet "prod", NotBefore 12:00:00Z`)
    expect(lines[2]).toMatch(says)
  })
})

describe('news', () => {
  test('each step once, and each message when something came of it', () => {
    const waiting = message({ state: 'pending', attempts: 0, note: '' })
    const first = shown({ deliveries: [waiting] })
    expect(listNews(undefined, first, now)).toEqual(['12:00:00Z  seen'])
    expect(listNews(first, first, now)).toEqual([])
    const sending = shown({ deliveries: [{ ...waiting, attempts: 1 }] })
    expect(listNews(first, sending, now)).toEqual([])
    const failing = { ...waiting, attempts: 1, note: 'HTTP 503' }
    const second = shown({
      history: [...first.history, { at, what: 'approved', note: 'link: ops' }],
      deliveries: [failing],
    })
    expect(listNews(sending, second, now)).toEqual([
      '12:00:00Z  approved (link: ops)',
      '12:00:07Z    … ops: "scheduled" will be retried (HTTP 503)',
    ])
    const third = {
      ...second,
      deliveries: [{ ...failing, state: 'delivered' as const, attempts: 2 }],
    }
    expect(listNews(second, third, now)).toEqual([
      '12:00:07Z    ✓ ops: "scheduled" delivered, attempt 2 (HTTP 503)',
    ])
  })

  test('a message to a fallback names the channel that it replaces', () => {
    const divert = message({ channel: 'spare', insteadOf: 'ops' })
    expect(listNews(shown({ deliveries: [] }), shown({ deliveries: [divert] }), now)).toEqual([
      '12:00:07Z    ✓ spare: "scheduled" in place of ops delivered (HTTP 200)',
    ])
  })

  test('what a channel answered moves no cursor', () => {
    const odd = shown({ deliveries: [message({ note: 'a\u001b[2Jb' })] })
    expect(listNews(undefined, odd, now).join('')).not.toContain('\u001b')
  })
})

test('it is over if it ended and no message is pending', () => {
  expect(isOver(shown())).toBe(true)
  const { outcome: _, ...open } = shown()
  expect(isOver(open)).toBe(false)
  expect(isOver(shown({ deliveries: [message({ state: 'pending' })] }))).toBe(false)
})

describe('what it came to', () => {
  test('all delivered and completed: nothing is wrong', () => {
    expect(describeResult(shown())).toEqual({
      summary: 'completed; 2 of 2 messages delivered on 1 channel: ops',
      wrong: [],
    })
  })

  test('what a later message overtook before an attempt is no fault; after one, nobody was asked', () => {
    const overtaken = { state: 'superseded', attempts: 0 } as const
    const deliveries = [message(overtaken), message({ moment: 'completed' })]
    const { summary, wrong } = describeResult(shown({ deliveries }))
    expect(summary).toBe(
      'completed; 1 of 1 message delivered, 1 no longer needed, on 1 channel: ops',
    )
    expect(wrong).toEqual([])
    const late = [message({ ...overtaken, attempts: 3 }), message({ moment: 'completed' })]
    expect(describeResult(shown({ deliveries: late })).wrong).toEqual([
      expect.stringContaining('ops: "scheduled" did not arrive before the next step'),
    ])
  })

  const { outcome: _, ...open } = shown()
  test.each<[name: string, event: Shown, says: RegExp]>([
    ['still open', open, /did not end in time; check that the relay runs/],
    [
      'cancelled',
      shown({ outcome: 'cancelled', inferred: 'drill_overdue' }),
      /ended as cancelled \(drill_overdue\)/,
    ],
    [
      'refused',
      shown({ deliveries: [message({ state: 'refused', note: 'HTTP 404' })] }),
      /^ops: "scheduled" refused \(HTTP 404\); check the address .*\. Nothing was sent in its/,
    ],
    [
      'given up',
      shown({ deliveries: [message({ state: 'given_up' })] }),
      /given up .*can reach the channel/,
    ],
    ['pending', shown({ deliveries: [message({ state: 'pending' })] }), /the relay keeps trying/],
    [
      'no route',
      shown({ deliveries: [] }),
      /nobody was notified: no route matches; npm run check-config/,
    ],
    [
      'ignored',
      shown({ deliveries: [], policy: { decide: 'ignore', rule: 'x' } }),
      /rule "x" ignores/,
    ],
    [
      'nothing sent',
      shown({
        deliveries: [message({ state: 'superseded', note: 'this message changes no incident' })],
      }),
      /^ops: nothing was sent to it \(this message changes no incident\)/,
    ],
  ])('%s: says what to look at', (_name, event, says) => {
    const { wrong } = describeResult(event)
    expect(wrong).toHaveLength(1)
    expect(wrong[0]).toMatch(says)
  })

  test('one cause gives one sentence with the fallback; a channel that accepted nothing is not counted', () => {
    const refused = (moment: Message['moment'], note: string) =>
      message({ channel: 'bad', moment, state: 'refused', note })
    const spare = { channel: 'spare', insteadOf: 'bad' }
    const notice = message({ ...spare, moment: 'alert' as never })
    const deliveries = [
      refused('scheduled', 'HTTP 404'),
      refused('started', 'not sent, as the channel refuses since then: HTTP 404'),
      ...[notice, message(spare), message({ ...spare, moment: 'started' })],
    ]
    expect(describeResult(shown({ deliveries }))).toEqual({
      summary:
        'completed; 2 of 2 messages delivered, 2 of them by a fallback, on 1 of 2 channels: spare',
      wrong: [
        'bad: "scheduled", "started" refused (HTTP 404); ' +
          'check the address and the key of the channel. In its place spare received 2 messages',
      ],
    })
  })

  describe('each message of the drill counts once', () => {
    const summaryOf = (deliveries: Message[]) => describeResult(shown({ deliveries })).summary
    const notice = { moment: 'alert' as never, channel: 'spare', insteadOf: 'bad' }

    test('not what a fallback is sent about the channel, delivered or not', () => {
      for (const state of ['delivered', 'refused', 'pending', 'superseded'] as const) {
        const { summary, wrong } = describeResult(
          shown({ deliveries: [message(), message({ ...notice, state })] }),
        )
        expect(summary).toBe('completed; 1 of 1 message delivered on 1 channel: ops')
        expect(wrong).toEqual([])
      }
    })

    test('once, where the channel and then its fallback took it', () => {
      const late = message({ channel: 'bad' })
      expect(summaryOf([late, message({ channel: 'spare', insteadOf: 'bad' })])).toBe(
        'completed; 1 of 1 message delivered on 2 channels: bad, spare',
      )
    })

    test('of two reminders, each for itself', () => {
      const reminder = (channel: string, distance: string, changes: Partial<Message>) => {
        const id = `prod/drill-one/1/reminder/${channel}/${distance}`
        return message({ id, channel, moment: 'reminder', ...changes })
      }
      const deliveries = [
        reminder('bad', '300s', { state: 'refused' }),
        reminder('bad', '60s', { state: 'refused' }),
        reminder('spare', '300s', { insteadOf: 'bad' }),
      ]
      expect(summaryOf(deliveries)).toBe(
        'completed; 1 of 2 messages delivered, 1 of them by a fallback, on 1 of 2 channels: spare',
      )
    })

    test('not where its fallback was refused, too', () => {
      const state = 'refused' as const
      const copy = message({ channel: 'spare', insteadOf: 'bad', state })
      expect(summaryOf([message({ channel: 'bad', state }), copy])).toBe(
        'completed; 0 of 1 message delivered on 0 of 2 channels',
      )
    })

    test('not where it was no longer needed', () => {
      const needless = [
        'overtaken by "started"',
        'decided meanwhile',
        'this message changes no incident',
      ]
      const deliveries = needless.map((note) => message({ state: 'superseded', note }))
      expect(summaryOf([message(), ...deliveries])).toBe(
        'completed; 1 of 1 message delivered, 3 no longer needed, on 1 channel: ops',
      )
    })
  })

  test('a notice of trouble is not the drill itself', () => {
    const notice = message({ moment: 'alert' as never, channel: 'spare', state: 'delivered' })
    expect(describeResult(shown({ deliveries: [...shown().deliveries, notice] })).wrong).toEqual([])
  })
})
