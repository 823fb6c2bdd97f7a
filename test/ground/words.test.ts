// One word for one thing: words that were given up do not come back. docs/how-it-works.md has those that stay.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const folders = ['beacon', 'functions', 'shared', 'docs']

/** What each is called now. A word that the API has in public stays as it is there. */
const gone: [string, RegExp, string][] = [
  ['memo', /\bmemos?\b/i, 'chat message'],
  ['tally', /\btall(y|ies)\b/i, 'counts'],
  [
    'witness, observer, sighting',
    /\bwitness|\bobserver(?!s\b)|sightings?\b/i,
    'onlooker, or sight',
  ],
  ['verdict', /\bverdicts?\b/i, 'decision'],
  ['lapse', /\blapse[sd]?\b/i, 'an approval expires'],
  ['passed on', /\bpassed on\b/i, 'Azure accepted'],
  ['held back', /\bheld back\b/i, 'due, or muted'],
  ['pump, rounds', /\bpumps?\b|\brounds\b/i, 'the loop'],
  ['desk', /\bdesks?\b/i, 'presses'],
  ['bell', /\bbells?\b/i, 'signal'],
]

const files = folders
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(folder, name),
    ),
  )
  .filter((path) => /\.(ts|md)$/.test(path))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

test.each(gone)('no file has the word %s', (_, word, now) => {
  const found = files.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, i) => (word.test(line) ? [`${path}:${i + 1} ${line.trim()}`] : [])),
  )
  expect(found, `write: ${now}`).toEqual([])
})

test('a comment begins with what it is about', () => {
  const pointing = /^\s*(?:\/\/|\/\*\*|\*) (?:Of|As|The same|Those)\b/
  const before = /^\s*(?:\/\/|\*) .*[^.:]$/
  const found = files.flatMap(({ path, text }) => {
    const lines = path.endsWith('.ts') ? text.split('\n') : []
    return lines.flatMap((line, i) =>
      pointing.test(line) && !before.test(lines[i - 1] ?? '')
        ? [`${path}:${i + 1} ${line.trim()}`]
        : [],
    )
  })
  expect(found, 'name the thing first: of, as and those need the line below').toEqual([])
})

/**
 * Words of everyday English that once named a thing of Foghorn's. A sentence may have them, but no type is called so:
 * a type is a thing. A part of a message is one, so `part` is not here.
 */
const plainWords = [
  'telling',
  'post',
  'turn',
  'look',
  'room',
  'share',
  'place',
  'kept',
  'course',
  'episode',
  'agreed',
]

test('no type is called by a word that was given up', () => {
  const declared = new RegExp(
    `\\b(?:interface|type|class|enum) (?:${plainWords.join('|')})\\b`,
    'i',
  )
  const found = files.flatMap(({ path, text }) =>
    path.endsWith('.ts')
      ? text
          .split('\n')
          .flatMap((line, i) => (declared.test(line) ? [`${path}:${i + 1} ${line.trim()}`] : []))
      : [],
  )
  expect(found).toEqual([])
})
