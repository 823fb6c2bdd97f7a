// Reads variables of the environment. A mistake becomes a sentence that names the variable, the
// value and what to write instead.
import { cut } from '../shared/document.ts'
import type { Level } from '../shared/log.ts'

export type Environment = Record<string, string | undefined>

/** What is wrong with one variable, and what to write instead. */
export class Wrong {
  readonly sentence: string
  constructor(sentence: string) {
    this.sentence = sentence
  }
}

/** `parse` gets undefined if the variable is missing or empty. Returns undefined if it is wrong. */
export type Read = <T>(
  name: string,
  parse: (text: string | undefined) => T | Wrong,
) => T | undefined

/** Adds a sentence to `problems` for each variable that is wrong. */
export function reader(environment: Environment, problems: string[]): Read {
  return (name, parse) => {
    const text = environment[name]?.trim()
    const value = parse(text === '' ? undefined : text)
    if (!(value instanceof Wrong)) return value
    problems.push(`${name} ${value.sentence}`)
    return undefined
  }
}

/** The value in quotes. Secrets in the wrong place are masked. */
export function shown(text: string): string {
  // what comes before the last @ may be a password, which may contain any character
  const masked = text.replace(/whsec_\S*/g, '[secret]').replace(/^(\w+:\/\/)?.*@/s, '$1[secret]@')
  return `"${cut(masked, 80)}"`
}

export const levels: readonly Level[] = ['debug', 'info', 'warn', 'error']

export function parseLevel(text: string | undefined): Level | Wrong {
  const level = levels.find((known) => known === (text ?? 'info'))
  return level ?? new Wrong(`is ${shown(text ?? '')}: write one of ${levels.join(', ')}`)
}
