// Which log lines the Functions host passes on to Application Insights: by the levels in the
// shipped host.json, under the host's own categories.
import { readFileSync } from 'node:fs'
import type { Level, LogLine } from './functions-core.ts'

const hostFile = new URL('../../infra/azure/host.json', import.meta.url)
const ranks: Level[] = ['trace', 'debug', 'information', 'warning', 'error', 'critical', 'none']

/** What a program prints. The host files it at Information, whatever its level. */
export const printedLine = { category: 'Host.Function.Console', level: 'information' } as const

export function categoryOf({ category, functionName = '' }: LogLine): string {
  return `Function.${functionName}${category === 'user' ? '.User' : ''}`
}

/** Of all rules that match the beginning of the category, the longest decides. */
export function isKept({ category, level }: { category: string; level: Level }): boolean {
  const rules: Record<string, string> = JSON.parse(readFileSync(hostFile, 'utf8')).logging.logLevel
  const fitting = Object.keys(rules).filter((rule) => `${category}.`.startsWith(`${rule}.`))
  const [longest = 'default'] = fitting.sort((a, b) => b.length - a.length)
  const least = rules[longest]!.toLowerCase() as Level
  return least !== 'none' && ranks.indexOf(level) >= ranks.indexOf(least)
}
