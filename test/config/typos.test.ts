// Typing errors: the error suggests the right name, or gives the place where the text is not JSON.
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../functions/config/config.ts'
import { editsBetween, nearest } from '../../functions/schema/suggest.ts'
import { mistakesOf, withValue } from '../support/config.ts'
import { baseConfig, prodKey, routingKey } from '../support/world.ts'

const slips: [path: string, value: unknown, at: string, meant: string][] = [
  ['publikUrl', 'https://x.example', '(top level)', 'publicUrl'],
  ['polices', [], '(top level)', 'policy'],
  ['route', [], '(top level)', 'routes'],
  ['retentiondays', 90, '(top level)', 'retentionDays'],
  ['fleets.prod.kye', prodKey, 'fleets.prod', 'key'],
  ['fleets.prod.entar', {}, 'fleets.prod', 'entra'],
  ['channels.chat.ulr', 'https://slack.example', 'channels.chat', 'url'],
  ['channels.chat.falback', 'team', 'channels.chat', 'fallback'],
  ['channels.pager.routingkey', routingKey, 'channels.pager', 'routingKey'],
  ['channels.chat.kind', 'Slack', 'channels.chat.kind', 'slack'],
  ['channels.chat.kind', 'team', 'channels.chat.kind', 'teams'],
  ['channels.chat.kind', 'pagerdty', 'channels.chat.kind', 'pagerduty'],
  ['channels.chat.fallback', 'taem', 'channels.chat.fallback', 'team'],
  ['channels.chat.fallback', 'Team', 'channels.chat.fallback', 'team'],
  ['policy', [{ match: {}, decide: 'aprove' }], 'policy[0].decide', 'approve'],
  ['policy', [{ match: {}, decide: 'Ask' }], 'policy[0].decide', 'ask'],
  ['policy', [{ match: {}, decide: 'ask', nmae: 'x' }], 'policy[0]', 'name'],
  ['policy', [{ match: { fleet: 'prdo' }, decide: 'ask' }], 'policy[0].match.fleet', 'prod'],
  ['routes.0.channels', ['chta'], 'routes[0].channels[0]', 'chat'],
  ['routes.0.moments', ['start'], 'routes[0].moments[0]', 'started'],
  ['routes.0.moments', ['complete'], 'routes[0].moments[0]', 'completed'],
  ['routes.0.moments', ['canceled'], 'routes[0].moments[0]', 'cancelled'],
  ['routes.0.remindBefore', 300, 'routes[0]', 'remindBeforeSeconds'],
  ['routes.0.contineu', false, 'routes[0]', 'continue'],
  ['routes.0.match.resources', 'web_0', 'routes[0].match', 'resource'],
  ['routes.0.match.eventTypes', 'Reboot', 'routes[0].match', 'eventType'],
  ['routes.0.match.maxDuration', 8, 'routes[0].match', 'maxDurationSeconds'],
]

describe('what was meant is named', () => {
  test.each(slips)('%s: %j', (path, value, at, meant) => {
    const message = mistakesOf(JSON.stringify(withValue(path, value)))
    const line = message.split('\n').find((one) => one.startsWith(`${at}: `))
    expect(line).toContain(`; did you mean "${meant}"?`)
    expect(message).not.toContain(routingKey)
    expect(message).not.toContain(prodKey)
  })

  test.each([
    ['routes.0.channels', ['somewhere']],
    ['channels.chat.kind', 'irc'],
    ['routes.0.moments', ['begun']],
    ['channels.chat.uris', 'https://x'],
  ])('but not where nothing is near: %s: %j', (path, value) => {
    expect(mistakesOf(JSON.stringify(withValue(path, value)))).not.toContain('did you mean')
  })

  test('a name from the environment is not shown, even where it is near', () => {
    const config = withValue('routes.0.channels', ['env:WHERE'])
    const message = mistakesOf(JSON.stringify(config), { WHERE: 'chta' })
    expect(message).toContain('routes[0].channels[0]: there is no channel of that name')
    expect(message).not.toContain('chta')
  })

  test.each([
    ['', '', 0],
    ['chat', 'chat', 0],
    ['chat', '', 4],
    ['chat', 'chats', 1],
    ['chat', 'hat', 1],
    ['chat', 'chet', 1],
    ['chat', 'chta', 1],
    ['kitten', 'sitting', 3],
    ['ca', 'abc', 3],
  ])('from %j to %j it takes %i edits', (one, other, edits) => {
    expect(editsBetween(one, other)).toBe(edits)
    expect(editsBetween(other, one)).toBe(edits)
  })

  test.each([
    ['ab', ['cd'], undefined],
    ['a', ['b'], undefined],
    ['ops', ['op'], undefined],
    ['ops-slak', ['ops-teams', 'ops-slack'], 'ops-slack'],
    ['teem', ['seem-to', 'team'], 'team'],
    ['cha', ['channels'], undefined],
    ['chan', ['channels'], 'channels'],
  ])('near to %j of %j is %j', (word, known, found) => {
    expect(nearest(word, known)).toBe(found)
  })
})

describe('what other programs take from the environment', () => {
  const hint = '; to read it from the environment, write "env:NAME"'
  test.each<[string, unknown]>([
    ['channels.chat.url', '$SLACK_WEBHOOK_URL'],
    ['channels.chat.url', `\${SLACK_WEBHOOK_URL}`],
    ['channels.chat.fallback', 'ENV:hunter2'],
    ['channels.hook.secret', ['%SECRET%']],
    ['publicUrl', 'process.env.PUBLIC_URL'],
    ['routes.0.channels', ['$CHANNEL']],
  ])('%s: %j', (path, value) => {
    const message = mistakesOf(JSON.stringify(withValue(path, value)))
    expect(message.split('\n')).toEqual([expect.stringMatching(/./)])
    expect(message.endsWith(hint)).toBe(true)
    expect(message).not.toMatch(/hunter2|SLACK|SECRET/)
  })

  test('is left alone where it is right', () => {
    const rule = { name: '$5 a day', match: { tag: '$cost' }, decide: 'ask' }
    expect(() => readConfig(JSON.stringify(withValue('policy', [rule])), {})).not.toThrow()
  })
})

describe('a text that is no configuration', () => {
  test.each([
    ['cut off', '{"fleets": {"prod": {"key": "whsec_hunter2"', 'position'],
    ['without quotes', '{\n"key": whsec_hunter2_hunter2\n}', 'line 2'],
    ['with a word beside a secret', '{\n"a": 1,\n"key": "whsec_hunter2" hunter2 }', '(line 3'],
    ['with a comma too many', '{\n"key": "whsec_hunter2",\n}', '(line 3'],
    ['with a comma too many in a list', '{\n"key": ["whsec_hunter2",]\n}', 'line 2'],
    ['in apostrophes', "{'key': 'whsec_hunter2'}", '(line 1'],
  ])('not JSON: %s', (_, text, where) => {
    const message = mistakesOf(text)
    expect(message).toMatch(/^not JSON: .*; put names and texts in double quotes/)
    expect(message).toContain(where)
    expect(message).not.toMatch(/hunter2/)
  })

  test.each(['', ' \n', '\uFEFF\n'])('an empty file: %j', (text) => {
    expect(mistakesOf(text)).toBe(
      'the file is empty; infra/examples/full.config.json is an example to copy',
    )
  })

  test('a number beyond all numbers is shown as one', () => {
    const text = JSON.stringify(withValue('retentionDays', 7)).replace(/7(?=})/, '1e999')
    expect(mistakesOf(text)).toBe('retentionDays: write a number, without quotes (found Infinity)')
  })

  test.each<[string, string, string | undefined]>([
    ['at the top', '{"a": 1, "a": 2}', '(top level): "a" appears twice; remove one'],
    ['among channels', '{"channels": {"x": {}, "y": {"x": 1}, "x": {}}}', 'channels: "x" appears'],
    ['within a list', '{"routes": [{}, {"match": {}, "match": {}}]}', 'routes[1]: "match" appears'],
    ['escaped', '{"a": 1, "\\u0061": 2}', '(top level): "a" appears twice'],
    ['a secret in its place', '{"whsec_/hunter2": 1, "whsec_/hunter2": 2}', 'a key appears twice'],
    ['not in two objects', '{"a": {"x": "{"}, "b": {"x": "\\"x\\":"}, "c": ["x", "x"]}', undefined],
  ])('a key that appears twice: %s', (_, text, said) => {
    const lines = mistakesOf(text).split('\n')
    const twice = lines.filter((line) => line.includes(' twice; '))
    expect(twice).toEqual(said === undefined ? [] : [expect.stringContaining(said)])
  })

  test.each([
    ['(top level)', '{"__proto__": 1}'],
    ['channels', '{"channels": {"__proto__": {"kind": "slack", "url": "https://a.example"}}}'],
    ['channels', '{"channels": {"\\u005f_proto__": {}}}'],
    ['routes[1].match', '{"routes": [{}, {"match": {"__proto__": "x"}}]}'],
  ])('a name that would vanish, at %s', (at, text) => {
    expect(mistakesOf(text).split('\n')).toContain(
      `${at}: "__proto__" is not allowed as a name; write another`,
    )
  })

  test.each([
    ['lists', '['.repeat(5_000) + ']'.repeat(5_000)],
    ['objects', `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`],
    ['both', `{"routes":\n${'[{"a":'.repeat(200)}1${'}]'.repeat(200)}}`],
  ])('too many brackets within each other: %s', (_, text) => {
    expect(mistakesOf(text)).toMatch(/^line [12] is nested more than 64 levels deep; close/)
  })

  test('a mark at the beginning says that it is UTF-8, and is no mistake', () => {
    expect(() => readConfig(`\uFEFF${JSON.stringify(baseConfig)}`, {})).not.toThrow()
  })

  test('another encoding is named', () => {
    const asUtf16 = Buffer.from(`\uFEFF${JSON.stringify(baseConfig)}`, 'utf16le').toString('utf8')
    expect(mistakesOf(asUtf16)).toBe('the file is not UTF-8; save it as UTF-8')
  })

  test.each(['null', '[]', '"text"', '5'])('%s is no configuration', (text) => {
    expect(mistakesOf(text)).toContain('(top level)')
  })
})
