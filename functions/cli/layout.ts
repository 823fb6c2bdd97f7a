// What a terminal of 100 columns shows: sentences that wrap, and who hears of which moment as a table.

import type { Case, Outcome, Rule, Told } from '../check/dry-run.ts'
import { list } from '../check/policy.ts'

const columns = 100

/** Lines of at most 100 columns; what follows the first is indented by `rest`. */
export function wrap(text: string, first = '', rest = first): string[] {
  const lines: string[] = []
  let line = first
  let isEmpty = true
  for (const word of text.split(' ')) {
    const longer = isEmpty ? line + word : `${line} ${word}`
    if (isEmpty || longer.length <= columns) line = longer
    else {
      lines.push(line)
      line = rest + word
    }
    isEmpty = false
  }
  return [...lines, line]
}

export function listed(sentences: string[]): string[] {
  return sentences.flatMap((sentence) => wrap(sentence, '  - ', '    '))
}

export function describeOutcome(one: Case, outcome: Outcome, channels: string[]): string[] {
  const { decide, asked, routes, told } = outcome
  const by = asked.find(({ whyNot }) => whyNot === undefined)
  const decided = by === undefined ? 'no rule matches, so people are asked' : `by ${by.rule}`
  return [
    ...wrap(titleOf(one), 'Dry run: ', '  '),
    '',
    ...wrap(`${decide}, ${decided}`, 'Policy: ', '  '),
    ...listed(asked.filter((rule) => rule !== by).map(saying)),
    '',
    'Routes:',
    ...listed(routes.map(saying)),
    '',
    ...decidersIn(outcome),
    'Who hears of which moment:',
    ...table(told, channels),
    ...onlyAfterIn(told, channels),
    ...beforeIn(outcome, channels),
  ]
}

/** A table can't say of an end that it is told only where something was told before. */
function onlyAfterIn(told: Told[], channels: string[]): string[] {
  const lines = channels.flatMap((name) => {
    const later = told.filter(({ onlyAfter }) => onlyAfter?.includes(name))
    if (later.length === 0) return []
    const first = told.filter((row) => row.channels.includes(name) && !later.includes(row))
    const [hears, after] = [later, first].map((rows) => rows.map(({ moment }) => moment))
    return wrap(`${name} hears of ${list(hears!)} only after ${list(after!, 'or')}.`, '  ')
  })
  return lines.length === 0 ? [] : ['', ...lines]
}

/** What the relay does while it knows less than was said of the VMs. */
function beforeIn({ decide, asked, told, before }: Outcome, all: string[]): string[] {
  if (before === undefined) return []
  const ruleIn = (rules: Rule[]) => rules.find(({ whyNot }) => whyNot === undefined)?.rule
  const isSameRule = before.decide === decide && before.by?.rule === ruleIn(asked)
  const rule = before.by === undefined ? 'no rule matches' : `by ${before.by.rule}`
  const policy = isSameRule ? [] : [`the policy says ${before.decide} (${rule})`]
  const { moment = '', channels = [] } = before.told ?? {}
  const isSameTold = channels.toSorted().join() === told[0]?.channels.toSorted().join()
  const who = list(all.filter((name) => channels.includes(name)))
  const how = who === '' ? 'to nobody' : `to ${who}, who go on hearing to its end`
  const telling = isSameTold ? [] : [`${moment} is told ${how}`]
  return [
    '',
    ...wrap(
      "Tags, groups and scale sets are known to the relay once the VM's own beacon has reported " +
        `this event. Where another reports it first, until then ${list([...policy, ...telling])}.`,
      '  ',
    ),
  ]
}

function decidersIn({ decide, deciders, buttons }: Outcome): string[] {
  if (deciders === undefined) return []
  const where = buttons.length === 0 ? '' : `; by buttons in ${buttons.join(', ')}`
  const unasked = decide === 'notify' ? '; nobody is asked' : ''
  return [...wrap(whoIn(deciders) + where + unasked, 'Who may decide: ', '  '), '']
}

function whoIn(deciders: NonNullable<Outcome['deciders']>): string {
  if (deciders === 'anybody') return 'whoever has the link, and the admin key'
  return deciders.length === 0
    ? 'nobody but the admin key: no one is on the list of every VM that is hit'
    : [...deciders, 'the admin key'].join(', ')
}

function titleOf({ fleet, event }: Case): string {
  const { eventType, status, resources, source, durationSeconds: seconds } = event
  const known = seconds !== undefined && seconds >= 0
  const began = status === 'Started' ? ', first seen as Started' : ''
  return (
    `${eventType} of ${resources.join(', ') || 'no VM'} in fleet "${fleet}", ` +
    `source ${source ?? 'not known'}, duration ${known ? `${seconds} s` : 'not known'}${began}`
  )
}

function saying({ rule, whyNot }: Rule): string {
  return whyNot === undefined ? `${rule} matches` : `${rule} does not match: ${whyNot}`
}

/** Channels as columns: by name where they fit, else by number. */
export function table(told: Told[], channels: string[]): string[] {
  const labelWidth = 2 + Math.max(...told.map(({ moment }) => moment.length))
  const fits = labelWidth + channels.reduce((sum, name) => sum + name.length + 2, 0) <= columns
  const heads = fits ? channels : channels.map((_, i) => String(i + 1))
  const row = (label: string, cells: string[]) =>
    `${label.padEnd(labelWidth)}${cells
      .map((cell, i) => `  ${centred(cell, heads[i]!.length)}`)
      .join('')}`.trimEnd()
  const names = fits ? [] : wrap(channels.map((name, i) => `${i + 1} ${name}`).join(', '), '  ')
  const rows = told.map(({ moment, channels: hearing }) =>
    row(
      `  ${moment}`,
      channels.map((name) => (hearing.includes(name) ? 'x' : '-')),
    ),
  )
  return [...names, row('', heads), ...rows]
}

function centred(text: string, width: number): string {
  const left = Math.floor((width - text.length) / 2)
  return `${' '.repeat(Math.max(0, left))}${text}`.padEnd(width)
}
