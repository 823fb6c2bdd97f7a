// Text from outside as it is shown: without invisible characters and links.
import { describe, expect, test } from 'vitest'
import { escapeUnseen, linkless, visible } from '../../shared/presentable.ts'

/** First and last code point, and a name. */
const ranges: [number, number, string][] = [
  [0x00, 0x1f, 'C0 controls'],
  [0x7f, 0x9f, 'DEL and C1 controls'],
  [0xad, 0xad, 'soft hyphen'],
  [0x034f, 0x034f, 'grapheme joiner'],
  [0x061c, 0x061c, 'Arabic letter mark'],
  [0x115f, 0x1160, 'Hangul fillers'],
  [0x17b4, 0x17b5, 'Khmer vowels without a form'],
  [0x180b, 0x180f, 'Mongolian selectors'],
  [0x200b, 0x200f, 'zero-width characters and marks of direction'],
  [0x2028, 0x202e, 'separators and bidi controls'],
  [0x2060, 0x206f, 'word joiner, invisible operators, isolates'],
  [0x2800, 0x2800, 'blank of Braille'],
  [0x3164, 0x3164, 'Hangul filler'],
  [0xfe00, 0xfe0f, 'variation selectors'],
  [0xfeff, 0xfeff, 'byte order mark'],
  [0xffa0, 0xffa0, 'halfwidth Hangul filler'],
  [0xfff9, 0xfffb, 'interlinear annotation'],
  [0xe0000, 0xe0fff, 'tags and further selectors'],
]

const charactersIn = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i))

describe.each(ranges)('%i to %i: %s', (from, to) => {
  test('are not shown', () => {
    for (const character of charactersIn(from, to)) {
      expect(visible(`web${character}_0`)).toMatch(/^web ?_0$/)
    }
  })

  test('are escapes in JSON, which means the same', () => {
    for (const character of charactersIn(from, to)) {
      const value = { name: `web${character}_0` }
      const json = escapeUnseen(JSON.stringify(value))
      expect(json).toMatch(/^[\x20-\x7e]+$/)
      expect(JSON.parse(json)).toEqual(value)
    }
  })
})

test('what can be seen stays, in any script', () => {
  const text = 'web_3 שרת مرحبا 日本語 é ё 🚢 — “x”'
  expect(visible(text)).toBe(text)
  expect(escapeUnseen(text)).toBe(text)
})

describe('a link is text', () => {
  test.each([
    ['https://evil.example', 'https[:]//evil[.]example'],
    ['see HTTP://user@evil.example:80/a.b?c=d.e', 'see HTTP[:]//user@evil[.]example:80/a.b?c=d.e'],
    ['slack://channel', 'slack[:]//channel'],
    ['http://10.1.2.3/', 'http[:]//10[.]1[.]2[.]3/'],
    ['www.evil.example', 'www[.]evil[.]example'],
    ['www.evil', 'www[.]evil'],
    ['evil.example', 'evil[.]example'],
    ['evil.co.uk/login', 'evil[.]co[.]uk/login'],
    ['-evil.com', '-evil[.]com'],
    ['mail root@evil.com', 'mail root@evil[.]com'],
    ['mailto:root@evil', 'mailto[:]root@evil'],
    ['tel:0123', 'tel[:]0123'],
    ['[x](https://evil.example)', '[x](https[:]//evil[.]example)'],
    ['<http://evil.example|x>', '<http[:]//evil[.]example|x>'],
    ['web1.contoso.com', 'web1[.]contoso[.]com'],
    ['evil.bank', 'evil[.]bank'],
    ['evil.中国', 'evil[.]中国'],
    ['evil\u3002com', 'evil[.]com'],
    ['https://evil\uff0eexample', 'https[:]//evil[.]example'],
    ['evil.prod.evil', 'evil[.]prod[.]evil'],
  ])('%s', (text, shown) => {
    expect(linkless(text)).toBe(shown)
  })

  test.each([
    'web_3',
    'web-1.prod',
    'db-0.a.b',
    'db_0.internal',
    'aks_pool_1_vmss_000001',
    '2026-11-21 12:15:00 UTC (in 15 min)',
    'HTTP 404: no_service',
    'Restarts at once. It takes 1.5 s: see c:\\x, a/b, and so on.',
    'Your id, for "approvers": "slack:T0HOME/U0ADA".',
    '<!channel> @here @everyone',
  ])('%s stays as it is', (text) => {
    expect(linkless(text)).toBe(text)
  })
})
