// The arguments of check-config, and the event of a dry run.
import { parseArgs } from 'node:util'
import { describe, expect, test } from 'vitest'
import { checkConfig } from '../../functions/cli/check-config.ts'
import { eventOptions, readCase } from '../../functions/cli/tried-event.ts'
import { refusalOf } from '../support/command.ts'
import { event } from '../support/world.ts'

const now = Date.parse('2026-11-21T12:00:00Z')

function read(words: string[], content?: unknown, fleets = ['prod']) {
  const { values } = parseArgs({ args: words, options: eventOptions })
  const text = typeof content === 'string' ? content : content && JSON.stringify(content)
  return readCase(values, text as string | undefined, fleets, now)
}

const asImds = {
  EventId: 'A',
  EventStatus: 'Scheduled',
  EventType: 'Freeze',
  Resources: ['web_0'],
  NotBefore: 'Mon, 11 Apr 2022 22:26:58 GMT',
  EventSource: 'User',
  DurationInSeconds: 5,
}
const freeze = { eventType: 'Freeze', resources: ['web_0'], source: 'User', durationSeconds: 5 }
const vm = { name: 'web_0', resourceGroup: 'rg', tags: { a: 'b' } }

describe('an event from a file', () => {
  test.each<[string, unknown, string[], object]>([
    ['one entry of Events', asImds, [], freeze],
    ['a document with one', { DocumentIncarnation: 1, Events: [asImds] }, [], freeze],
    ['the form of reports', { ...freeze, eventId: 'a', status: 'Scheduled' }, [], freeze],
    ['a report', { vm, document: { events: [event()] } }, [], { eventType: 'Reboot' }],
    ['a few keys', { EventType: 'redeploy' }, [], { eventType: 'Redeploy', resources: [] }],
    ['one that runs', { ...asImds, EventStatus: 'Started' }, [], { ...freeze, status: 'Started' }],
    ['an option goes before', asImds, ['--source', 'Platform'], { ...freeze, source: 'Platform' }],
    ['any option', asImds, ['--type=Reboot', '--duration=-1'], { durationSeconds: -1 }],
    ['other VMs', asImds, ['--resource=a', '--resource=b, c'], { resources: ['a', 'b', 'c'] }],
  ])('%s', (_, content, words, expected) => {
    expect(read(words, content).case.event).toMatchObject(expected)
  })

  test.each<[string, unknown, string[], number, string]>([
    ['ahead', 'Sat, 21 Nov 2026 12:14:00 GMT', [], 840, 'is 840 s ahead, as in the file'],
    ['ahead, in another form', '2026-11-21T12:00:30Z', [], 30, 'is 30 s ahead, as in the file'],
    [
      'over',
      'Sat, 21 Nov 2026 11:59:00 GMT',
      [],
      900,
      'in the file, 2026-11-21T11:59:00.000Z, is over, so it is assumed to be 900 s ahead, as usual',
    ],
    ['empty', '', [], 900, 'is assumed to be 900 s ahead, as usual'],
    ['beside an option', 'Sat, 21 Nov 2026 12:14:00 GMT', ['--notice=60'], 60, ''],
  ])('NotBefore that is %s', (_, NotBefore, words, seconds, why) => {
    const { case: one, notes } = read(words, { ...asImds, NotBefore })
    expect(one.noticeSeconds).toBe(seconds)
    const said = notes.filter((note) => note.startsWith('NotBefore'))
    expect(said).toEqual(why === '' ? [] : [`NotBefore ${why}. Change it with --notice.`])
  })

  test('NotBefore as beacons report it', () => {
    const reported = { ...freeze, notBeforeAt: now + 120_000 }
    expect(read([], reported).case.noticeSeconds).toBe(120)
  })

  test('with a mark of its encoding in front', () => {
    expect(read([], `\uFEFF${JSON.stringify(asImds)}`).case.event).toMatchObject(freeze)
  })

  test('a report says what its VM is', () => {
    const { vms } = read([], { vm, document: { events: [event()] } }).case
    expect(vms).toEqual([{ vm: 'web_0', resourceGroup: 'rg', scaleSet: '', tags: { a: 'b' } }])
  })
})

describe('an event from options', () => {
  test('is of the platform, of unknown duration, and announced as is usual', () => {
    const { case: one } = read(['--type', 'redeploy', '--resource', 'web_0'])
    expect(one.event).toMatchObject({
      eventType: 'Redeploy',
      source: 'Platform',
      status: 'Scheduled',
    })
    expect(one.event.durationSeconds).toBeUndefined()
    expect(one).toMatchObject({ fleet: 'prod', noticeSeconds: 600, vms: [] })
  })

  test('tags, group and scale set are those of every VM', () => {
    const words = ['--type=Reboot', '--resource=a', '--resource=b', '--tag=x=1=2', '--tag=y']
    const { vms } = read([...words, '--scale-set=s', '--resource-group=rg']).case
    const known = { resourceGroup: 'rg', scaleSet: 's', tags: { x: '1=2', y: '' } }
    expect(vms).toEqual([
      { vm: 'a', ...known },
      { vm: 'b', ...known },
    ])
  })
})

describe('what is taken for granted is said', () => {
  test('a type that Azure has not is doubted before anything else is said', () => {
    const { doubts, notes } = read(['--type', 'Rebot'])
    const types = 'Freeze, Reboot, Redeploy, Preempt, Terminate'
    const doubt = `Azure has no type "Rebot" today; it has ${types}; did you mean "Reboot"?`
    expect(doubts).toEqual([doubt])
    expect(notes.join()).not.toContain('Rebot')
    expect(read(['--type', 'reboot']).doubts).toEqual([])
  })

  test.each([
    [['--type', 'Reboot'], 'No VM is named', 'with --resource'],
    [['--type', 'Reboot', '--resource', 'web_0'], 'Tags, groups and scale sets are unknown'],
    [['--type', 'Redeploy'], 'NotBefore is assumed to be 600 s ahead'],
  ])('%j', (words, ...said) => {
    const notes = read(words).notes.join(' ')
    for (const part of said) expect(notes).toContain(part)
  })

  test('and nothing where all is given', () => {
    const words = ['--type=Reboot', '--resource=web_0', '--tag=a=b', '--notice=60']
    expect(read(words).notes).toEqual([])
  })
})

describe('wrong words', () => {
  test.each<[string[], string]>([
    [['b.json'], '"b.json" is one word too many; write npm run '],
    [['--verbose'], 'unknown option --verbose; --help lists all options'],
    [['-x'], 'unknown option -x'],
    [['--resorce', 'a'], 'unknown option --resorce; did you mean --resource?'],
    [['--type'], '--type needs a value; write --type=VALUE'],
    [['--duration', '-1'], '--duration needs a value; write --duration=VALUE'],
    [['--without-env=yes'], '--without-env takes no value'],
  ])('of every command, %j: %s', async (words, said) => {
    expect(await refusalOf(checkConfig, ['x.json', ...words])).toContain(said)
  })

  test('no file', async () => {
    expect(await refusalOf(checkConfig, [])).toContain('FILE is missing; write npm run')
  })

  test.each<[string[], string, unknown?]>([
    [['--resource', 'web_0'], 'the event has no type; write --type and one of Freeze'],
    [
      ['--type=Reboot', '--duration=soon'],
      '--duration is "soon"; write a whole number of seconds, from -1',
    ],
    [['--type=Reboot', '--duration='], '--duration is ""; write a whole number'],
    [
      ['--type=Reboot', '--notice=-5'],
      '--notice is "-5"; write a whole number of seconds, from 0 to 604800',
    ],
    [
      ['--type=Reboot', '--fleet=prdo'],
      'there is no fleet "prdo"; write one of prod; did you mean "prod"?',
    ],
    [[], '--event: the file is not JSON; write one entry of Events', 'Reboot'],
    [[], '--event: the file contains no JSON object; write one entry', 'null'],
    [[], '--event: EventType is missing; write one entry', { type: 'Reboot' }],
    [[], '--event: the document has 2 events, but a dry run takes one', { Events: [{}, {}] }],
    [[], '--event: the document has 0 events', { document: null }],
    [[], '--event: resources: ', { eventType: 'Reboot', resources: 5 }],
    [[], '--event: EventType: write text in quotes (found 5)', { EventType: 5 }],
    [[], '--event: EventType: write at least 1 character (found "")', { EventType: '' }],
    [
      [],
      '--event: Resources: write a list in [ ] (found "web_0")',
      { ...asImds, Resources: 'web_0' },
    ],
    [[], '--event: Resources[0]: write text in quotes (found 7)', { ...asImds, Resources: [7] }],
    [[], '--event: NotBefore: write a time such as', { ...asImds, NotBefore: 'soon' }],
    [[], '--event: NotBefore: write text', { Events: [{ ...asImds, NotBefore: 5 }] }],
    [[], '--event: DurationInSeconds: write a number', { ...asImds, DurationInSeconds: '5' }],
    [
      [],
      '--event: EventStatus: write "Scheduled" or "Started"',
      { ...asImds, EventStatus: 'Done' },
    ],
    [[], '--event: eventType: write text in quotes (found 5)', { eventType: 5 }],
    [['--type=Reboot', '--resource=,,'], '--resource is ",,", with an empty name; write names'],
    [['--type=Reboot', '--resource', 'a,'], '--resource is "a,", with an empty name'],
    [['--type=Reboot', '--resource='], '--resource is "", with an empty name'],
    [[], '--event: EventId is not an id of IMDS', { EventType: 'Reboot', EventId: '' }],
    [[], '--event: EventId is not an id of IMDS', { EventType: 'Reboot', EventId: 'drill-1' }],
  ])('%j: %s', (words, said, content) => {
    expect(() => read(words, content)).toThrow(said)
  })

  test('several fleets: one has to be named', () => {
    const said = 'the configuration has several fleets; write --fleet and one of prod, test'
    expect(() => read(['--type=Reboot'], undefined, ['prod', 'test'])).toThrow(said)
    expect(read(['--type=Reboot', '--fleet=test'], undefined, ['prod', 'test']).case.fleet).toBe(
      'test',
    )
  })
})
