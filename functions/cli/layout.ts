// Output for a terminal of 100 columns: wrapped sentences, and the channels of each moment as a
// table.
import { stripVTControlCharacters } from 'node:util'
import { wrap as wrapTo } from '../../shared/text.ts'
import type { Case, Notified, Outcome, Rule } from '../check/dry-run.ts'
import { list } from '../check/policy.ts'
import { defaultRule } from '../core/event/event.ts'

/** If the terminal is narrower, lines have its width. Some terminals report 0. */
const columns = Math.min(process.stdout.columns || 100, 100)

/** Lines of at most 100 columns. Lines after the first begin with `rest`. */
export function wrap(text: string, first = '', rest = first): string[] {
  return wrapTo(text, columns, first, rest)
}

export function listed(sentences: string[]): string[] {
  return sentences.flatMap((sentence) => wrap(sentence, '  - ', '    '))
}

/** `1 fleet`, `2 fleets`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

export function describeOutcome(one: Case, outcome: Outcome, channels: string[]): string[] {
  const { decide, rules, routes, notified } = outcome
  const by = rules.find(({ whyNot }) => whyNot === undefined)
  const decided = by === undefined ? 'no rule matches, so people are asked' : `by ${by.rule}`
  return [
    ...wrap(styleTitle(one), 'Dry run: ', '  '),
    '',
    ...wrap(`${decide}${waitsIn(outcome)}, ${decided}`, 'Policy: ', '  '),
    ...listed(rules.filter((rule) => rule !== by).map(describeRule)),
    '',
    'Routes:',
    ...listed(routes.map(describeRule)),
    '',
    ...decidersIn(outcome),
    'Channels notified of each moment:',
    ...table(notified, channels),
    ...onlyAfterIn(notified, channels),
    ...beforeIn(outcome, channels),
    ...changeIn(outcome),
  ]
}

function waitsIn({ waits }: Outcome): string {
  const { whenReady, maxConcurrent } = waits ?? {}
  const ready = whenReady ? ' once every affected VM is ready' : ''
  const most = counted(maxConcurrent ?? 0, 'VM')
  const turns = maxConcurrent === undefined ? '' : `, with at most ${most} of a group at a time`
  return ready + turns
}

/** The table cannot show that a channel is notified only if it was notified before. */
function onlyAfterIn(notified: Notified[], channels: string[]): string[] {
  const lines = channels.flatMap((name) => {
    const later = notified.filter(({ onlyAfter }) => onlyAfter?.includes(name))
    if (later.length === 0) return []
    const first = notified.filter((row) => row.channels.includes(name) && !later.includes(row))
    const [of, after] = [later, first].map((rows) => rows.map(({ moment }) => moment))
    return wrap(`${name} is notified of ${list(of!)} only after ${list(after!, 'or')}.`, '  ')
  })
  return lines.length === 0 ? [] : ['', ...lines]
}

/** What the relay does until the VM's own beacon has reported. */
function beforeIn({ decide, rules, notified, before }: Outcome, all: string[]): string[] {
  if (before === undefined) return []
  const by = rules.find(({ whyNot }) => whyNot === undefined)
  const isSameRule = before.decide === decide && before.by?.rule === by?.rule
  const rule = before.by === undefined ? 'no rule matches' : `by ${before.by.rule}`
  const policy = isSameRule ? [] : [`the policy decides "${before.decide}" (${rule})`]
  const { moment = '', channels = [] } = before.notified ?? {}
  const isSameList = channels.toSorted().join() === notified[0]?.channels.toSorted().join()
  const who = list(all.filter((name) => channels.includes(name)))
  const whom = who === '' ? 'to no channel' : `to ${who}, which then receive all later messages`
  const sending = isSameList ? [] : [`"${moment}" goes ${whom}`]
  return [
    '',
    ...wrap(
      "The relay knows tags, groups and scale sets only after the VM's own beacon has reported this " +
        `event. If another beacon reports it first, until then ${list([...policy, ...sending])}.`,
      '  ',
    ),
  ]
}

function changeIn({ change }: Outcome): string[] {
  if (change === undefined) return []
  const { at, which, decide, rule } = change
  const by = rule === defaultRule ? 'no rule matches' : `by "${rule}"`
  const what = `${list(which)}; then the policy decides "${decide}" (${by})`
  const clock = `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  return ['', ...wrap(`Next change: ${clock}, ${what}.`, '', '  ')]
}

function decidersIn({ decide, deciders, buttons, waits }: Outcome): string[] {
  if (deciders === undefined) return []
  const where = buttons.length === 0 ? '' : `; by buttons in ${buttons.join(', ')}`
  const inVain = waits === undefined ? '' : '; people are asked only if the rule waits in vain'
  const unasked = decide === 'notify' ? '; nobody is asked' : inVain
  return [...wrap(whoIn(deciders) + where + unasked, 'Who may decide: ', '  '), '']
}

function whoIn(deciders: NonNullable<Outcome['deciders']>): string {
  if (deciders === 'anybody') return 'anyone with the link, the admin key, and tokens'
  return deciders.length === 0
    ? 'only the admin key or a token: nobody is on the list of every affected VM'
    : [...deciders, 'the admin key', 'tokens'].join(', ')
}

function styleTitle({ fleet, event }: Case): string {
  const { eventType, status, resources, source, durationSeconds: seconds } = event
  const known = seconds !== undefined && seconds >= 0
  const began = status === 'Started' ? ', first seen as Started' : ''
  return (
    `${eventType} of ${resources.join(', ') || 'no VM'} in fleet "${fleet}", ` +
    `source ${source ?? 'unknown'}, duration ${known ? `${seconds} s` : 'unknown'}${began}`
  )
}

function describeRule({ rule, whyNot }: Rule): string {
  return whyNot === undefined ? `${rule} matches` : `${rule} does not match: ${whyNot}`
}

/** Channels are columns, by name if they fit, otherwise by number. */
export function table(notified: Notified[], channels: string[]): string[] {
  const labelWidth = 2 + Math.max(...notified.map(({ moment }) => moment.length))
  const fits = labelWidth + channels.reduce((sum, name) => sum + name.length + 2, 0) <= columns
  const heads = fits ? channels : channels.map((_, i) => String(i + 1))
  const row = (label: string, cells: string[]) =>
    `${label.padEnd(labelWidth)}${cells
      .map((cell, i) => `  ${centred(cell, heads[i]!.length)}`)
      .join('')}`.trimEnd()
  const numbers = fits ? [] : wrap(channels.map((name, i) => `${i + 1} ${name}`).join(', '), '  ')
  const rows = notified.map(({ moment, channels: names }) =>
    row(
      `  ${moment}`,
      channels.map((name) => (names.includes(name) ? '●' : '·')),
    ),
  )
  return [...numbers, row('', heads), ...rows]
}

function centred(text: string, width: number): string {
  const left = Math.floor((width - text.length) / 2)
  return `${' '.repeat(Math.max(0, left))}${text}`.padEnd(width)
}

/** Columns as wide as their longest cell. The last one is not padded. Colours have no width. */
export function textTable(heads: string[], rows: string[][]): string[] {
  const all = [heads, ...rows]
  const widths = heads.map((_, i) => Math.max(...all.map((row) => measureWidth(row[i] ?? ''))))
  return all.map((row) =>
    row
      .map((cell, i) =>
        i === row.length - 1 ? cell : cell + ' '.repeat(widths[i]! - measureWidth(cell)),
      )
      .join('  '),
  )
}

function measureWidth(cell: string): number {
  return stripVTControlCharacters(cell).length
}
