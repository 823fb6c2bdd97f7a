// The reference tables of the documentation: what fills a marker, and what the tables are made of.
import { describe, expect, test } from 'vitest'
import {
  deployButton,
  described,
  filledDocuments,
  fillGenerated,
  makers,
  table,
} from '../../infra/reference.ts'
import { codesIn, eventsIn, settingsIn } from '../../infra/reference-scan.ts'

describe('fillGenerated', () => {
  const begin = '<!-- generated: moments -->\n'
  const end = '<!-- /generated -->'
  const made = { moments: () => '| a |', keys: () => '| b |' }

  test('replaces what stands between the markers, and nothing else', () => {
    const text = `# Title\n\n${begin}old\n${end}\n\nText\n`
    expect(fillGenerated(text, made)).toBe(`# Title\n\n${begin}\n| a |\n\n${end}\n\nText\n`)
  })

  test('is stable, and fills several markers', () => {
    const text = `${begin}${end}\n<!-- generated: keys -->\n${end}`
    const once = fillGenerated(text, made)
    expect(once).toContain('| a |')
    expect(once).toContain('| b |')
    expect(fillGenerated(once, made)).toBe(once)
  })

  test('keeps dollar signs of the text', () => {
    expect(fillGenerated(begin + end, { moments: () => "`$schema` $& $'" })).toContain(
      "`$schema` $& $'",
    )
  })

  test('names a marker without a maker, and one without an end', () => {
    expect(() => fillGenerated(begin + end, {})).toThrow('no maker is called "moments"')
    expect(() => fillGenerated(begin, made)).toThrow('"moments" has no <!-- /generated -->')
    const second = `${begin}<!-- generated: keys -->\n${end}`
    expect(() => fillGenerated(second, made)).toThrow('"moments" has no <!-- /generated -->')
  })
})

test('a table escapes bars in its cells', () => {
  expect(table(['a', 'b'], [['x|y', '']])).toBe('| a | b |\n| --- | --- |\n| x\\|y |  |')
})

test('every name needs a text, and every text a name', () => {
  expect(described(['a'], { a: 1 }, 'thing')).toEqual({ a: 1 })
  expect(() => described(['a', 'b'], { a: 1 }, 'thing')).toThrow('describe each thing: b')
  expect(() => described([], { a: 1 }, 'thing')).toThrow('the code has no such thing: a')
})

test('reads names from source files', () => {
  const source = `
    relay.log.info('one', {})
    log.error(
      'two',
    )
    refusals.note('three', fields, '', 'info')
    refusals.note('four', { where }, where)
    createTroubleLog(parts.log, 'relay')
    problem(c, 400, 'query_invalid', text)
    environment.HOST ?? 'x', environment.FOGHORN_DATA`
  expect(eventsIn(source)).toEqual([
    { name: 'four', level: 'warn' },
    { name: 'one', level: 'info' },
    { name: 'relay_failing', level: 'warn' },
    { name: 'relay_recovered', level: 'info' },
    { name: 'three', level: 'info' },
    { name: 'two', level: 'error' },
  ])
  expect([...codesIn(source)]).toEqual(['query_invalid'])
  expect([...settingsIn(source)]).toEqual(['HOST', 'FOGHORN_DATA'])
})

test.each(Object.entries(makers).filter(([name]) => name !== 'deploy-button'))(
  'the maker of %s makes a table, or a block of code',
  (_name, make) => {
    expect(make().split('\n').length).toBeGreaterThan(3)
    expect(make()).toMatch(/^(\| |```\w*\n)/)
  },
)

test('every maker fills a marker of the README or of a document', () => {
  const filled = Object.values(filledDocuments()).join('\n')
  const unused = Object.keys(makers).filter(
    (name) => !filled.includes(`<!-- generated: ${name} -->`),
  )
  expect(unused).toEqual([])
})

test('the button of the portal leads to the template of this version, once the repository is named', () => {
  const button = deployButton({ repository: 'github:owner/foghorn', version: '1.2.3' })
  const [, uri] = /Template\/uri\/([^)]+)\)$/.exec(button)!
  expect(decodeURIComponent(uri!)).toBe(
    'https://raw.githubusercontent.com/owner/foghorn/v1.2.3/infra/azure/main.json',
  )
  expect(deployButton({ version: '1.2.3' })).toBe('')
})
