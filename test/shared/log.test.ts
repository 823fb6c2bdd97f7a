import { describe, expect, test } from 'vitest'
import { createListToken, createToken } from '../../functions/links/link.ts'
import { createLog, type Level } from '../../shared/log.ts'
import { maskOf, maskTokens } from '../../shared/mask.ts'

const levels: Level[] = ['debug', 'info', 'warn', 'error']

function linesOf(level: Level, secrets: string[] = []) {
  const lines: string[] = []
  const log = createLog({ write: (line) => lines.push(line), now: () => 0, level, secrets })
  return { log, lines }
}

test('an entry is one line of JSON', () => {
  const { log, lines } = linesOf('info')
  log.warn('relay_failing', { reason: 'two\nlines', status: undefined, names: ['a'] })
  expect(lines).toEqual([
    '{"time":"1970-01-01T00:00:00.000Z","level":"warn","event":"relay_failing","reason":"two\\nlines","names":["a"]}',
  ])
})

test('control and invisible characters are escaped', () => {
  const { log, lines } = linesOf('info')
  const name = 'a\u001b[31m\u009b2J\u0085\u202eb\u200bc\u{e0041}\ufeff\u2028'
  log.info('x', { name })
  expect(lines[0]).toMatch(/^[\x20-\x7e]+$/)
  expect(JSON.parse(lines[0] ?? '').name).toBe(name)
})

test('the writer gets the level of each entry', () => {
  const told: Level[] = []
  const write = (_line: string, level: Level) => void told.push(level)
  const log = createLog({ write, now: () => 0, level: 'debug' })
  for (const each of levels) log[each]('x')
  expect(told).toEqual(levels)
})

test.each(levels)('level %s drops what is below it', (level) => {
  const { log, lines } = linesOf(level)
  for (const each of levels) log[each](each)
  expect(lines.map((line) => JSON.parse(line).level)).toEqual(levels.slice(levels.indexOf(level)))
})

describe('secrets', () => {
  test('are masked in any field, however deep in a text', () => {
    const { log, lines } = linesOf('info', ['whsec_c2VjcmV0'])
    log.info('x', { url: 'https://h/?k=whsec_c2VjcmV0&b', list: ['whsec_c2VjcmV0'] })
    expect(lines.join()).not.toContain('c2VjcmV0')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ url: 'https://h/?k=[secret]&b' })
  })

  test('are masked as JSON writes them', () => {
    const { log, lines } = linesOf('info', ['quo"te\\secret'])
    log.info('x', { text: 'it is quo"te\\secret' })
    expect(JSON.parse(lines[0] ?? '').text).toBe('it is [secret]')
  })

  test.each([
    ['JSON', 'to\\\\ken%41zz'],
    ['HTML', 'to\\ken%41&amp;zz'],
  ])('that look like an escape are masked in %s', (_, said) => {
    const { log, lines } = linesOf('info', ['to\\ken%41zz', 'to\\ken%41&zz'])
    log.info('x', { text: `no: "${said}"` })
    expect(JSON.parse(lines[0] ?? '').text).toBe('no: "[secret]"')
  })

  test.each([
    ['Go', 'S3cr\\u0026t%42Pw-77\\u003cx\\u003e'],
    ['.NET', 'S3cr\\u0026t%42Pw-77\\u003Cx\\u003E'],
  ])('with a percent are masked as %s writes JSON', (_, said) => {
    const { log, lines } = linesOf('info', ['S3cr&t%42Pw-77<x>'])
    log.info('x', { text: `no: "${said}"` })
    expect(JSON.parse(lines[0] ?? '').text).toBe('no: "[secret]"')
  })

  test('are masked in front of three dots, too', () => {
    const { log, lines } = linesOf('info', ['abcdefghijklmnop'])
    log.info('x', { text: 'bad token abcdefghijkl...' })
    expect(JSON.parse(lines[0] ?? '').text).toBe('bad token [secret]...')
  })

  test('a text has 4,096 characters, and no part of a secret at its end', () => {
    const { log, lines } = linesOf('info', ['secret-secret'])
    log.info('x', { text: `${'x'.repeat(4_085)}secret-secret`, names: ['y'.repeat(5_000)] })
    const { text, names } = JSON.parse(lines[0] ?? '')
    expect([text, names[0].length]).toEqual([`${'x'.repeat(4_085)}[secret]…`, 4_096])
  })

  test('tokens are masked by their look, also where a text was cut', () => {
    const { log, lines } = linesOf('info')
    const jwt = 'eyJ0eXAiOiJKV1QifQ.eyJhdWQiOiJhcGkifQ.c2lnbmF0dXJl_-0'
    log.info('x', { a: `Bearer ${jwt}, said the proxy`, b: `${jwt.slice(0, 30)}…`, c: 'eyJust' })
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      a: 'Bearer [token], said the proxy',
      b: '[token]…',
      c: 'eyJust',
    })
  })

  test('a token of the API is masked, also where it was cut', () => {
    const { log, lines } = linesOf('info')
    const token = `fht_${'0a'.repeat(8)}_${'1b'.repeat(32)}`
    log.info('x', { a: `no header "Bearer ${token}"`, b: `${token.slice(0, 21)}…`, c: 'fht' })
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      a: 'no header "Bearer [token]"',
      b: '[token]…',
      c: 'fht',
    })
  })

  test.each(['prod', '0', 'Zeta'])('a link that decides is masked, fleet "%s"', async (fleet) => {
    const keys: [Uint8Array<ArrayBuffer>] = [new Uint8Array(32).fill(7)]
    const key = { fleet, eventId: 'e', channel: 'chat', issuedAt: 5 }
    const tokens = [
      await createToken(keys, key),
      await createListToken(keys, { channel: 'chat', issuedAt: 5, events: [key, key] }),
    ]
    const { log, lines } = linesOf('info')
    for (const token of tokens) {
      const link = `https://foghorn.example/approve/${token}`
      log.info('x', { a: `bad url ${link}!`, b: token.slice(0, 30) })
      const masked = { a: 'bad url https://foghorn.example/approve/[token]!', b: '[token]' }
      expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject(masked)
    }
  })

  test('the longer of two that overlap goes first', () => {
    expect(maskOf(['abcdefgh', 'abcdefghij'])('abcdefghij')).toBe('[secret]')
  })

  test.each([
    ['JSON of PHP', 'pass\\/word+secret=1'],
    ['an address in lower case', 'pass%2fword%2bsecret%3d1'],
    ['HTML', 'pass&#x2F;word&#x2B;secret&#x3D;1'],
    ['HTML with decimal numbers', 'pass&#47;word&#43;secret&#61;1'],
    ['escapes of JavaScript', 'pass\\u002fword\\u002bsecret\\u003d1'],
    ['names of HTML 5', 'pass&sol;word&plus;secret&equals;1'],
    ['escapes with braces', 'pass\\u{2f}word\\x{2b}secret=1'],
    ['octal', 'pass\\057word\\053secret\\0751'],
    ['ASP', 'pass%u002Fword%u002Bsecret%u003D1'],
    ['Go and ASP.NET', 'pass/word\\u002Bsecret=1'],
    ['base64 of addresses', Buffer.from('pass/word+secret=1').toString('base64url')],
    ['hex', Buffer.from('pass/word+secret=1').toString('hex')],
    ['base64', Buffer.from('pass/word+secret=1').toString('base64').replace(/=+$/, '')],
    ...['a', 'ab', 'abc'].map((before) => [
      `base64 behind ${before.length}`,
      Buffer.from(`${before}pass/word+secret=1xyz`).toString('base64'),
    ]),
  ] as [string, string][])('as %s', (_, form) => {
    const masked = maskOf(['pass/word+secret=1'])(`it said ${form}!`)
    // what is left belongs to other texts around it
    expect(masked.replace('[secret]', '').length).toBeLessThan('it said !'.length + 13)
    expect(masked).toContain('[secret]')
  })

  const odd = `p&a<s"s'w\\ö rd!`
  test.each([
    ['HTML of Python', 'p&amp;a&lt;s&quot;s&#x27;w\\ö rd!'],
    ['HTML of Go', 'p&amp;a&lt;s&#34;s&#39;w\\ö rd!'],
    ['HTML of PHP', 'p&amp;a&lt;s&quot;s&#039;w\\ö rd!'],
    ['JSON in JSON', JSON.stringify(JSON.stringify(odd)).slice(3, -3)],
    ['an address', encodeURIComponent(odd)],
    ['a form', new URLSearchParams([['', odd]]).toString().slice(1)],
    [
      'quoted-printable',
      odd.replace(/[^\w ]/g, (one) =>
        one === 'ö' ? one : `=${one.charCodeAt(0).toString(16).toUpperCase()}`,
      ),
    ],
    ['names of HTML 5', 'p&amp;a&lt;s&quot;s&apos;w&bsol;ö&nbsp;rd!'],
    ['escapes of C', odd.replace(/[^\w ]/g, (one) => `\\x${one.charCodeAt(0).toString(16)}`)],
    ['its beginning, cut', 'p&amp;a&lt;s&#34;s&#39;w…'],
  ])('characters that languages escape, as %s', (_, form) => {
    const masked = maskOf([odd])(`it said ${form}`)
    expect(masked).toMatch(/^it said \[secret\]…?$/)
  })

  test('what only looks like an escape stays', () => {
    const text = 'at 100% \\ & &#9999999; %zz %c3 \\u00'
    expect(maskOf(['abcdefghij'])(text)).toBe(text)
  })

  test('in JSON that a text quotes', () => {
    const { log, lines } = linesOf('info', ['pass/word+secret=1'])
    log.info('x', { note: '{"got":"pass\\/word+secret=1"}' })
    expect(JSON.parse(lines.at(-1)!).note).toBe('{"got":"[secret]"}')
  })

  test('a secret of which a cut has left the beginning', () => {
    expect(maskOf(['abcdefghij'])('one abcdefgh… two abcdefg… abcdefghi')).toBe(
      'one [secret]… two abcdefg… abcdefghi',
    )
  })

  test('short ones are left: masking them would eat the log', () => {
    expect(maskOf(['a', ''])('banana')).toBe('banana')
  })

  test('of a short one, the long forms are masked', () => {
    expect(maskOf(['hunter2'])(`535 hunter2, 535 ${btoa('hunter2')}`)).toBe(
      '535 hunter2, 535 [secret]==',
    )
  })

  test.each(['fht%5Fabc', 'fht\\u005fabc', 'whsec%5FMfKQ9r8GKYqrTwjU'])(
    'a token by its look, with escapes: %s',
    (token) => {
      expect(maskTokens(`it said ${token}`)).toBe('it said [token]')
    },
  )
})
