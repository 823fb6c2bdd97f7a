// Warns about who learns of what: alerts that only the log has, people who cannot sign in, and secrets
// that everybody reads who reads the file.

import { describePath } from '../../shared/errors.ts'
import { parseJson } from '../../shared/json.ts'
import { looksSecret } from '../../shared/presentable.ts'
import { type Config, listSecrets } from '../config/config.ts'
import { channelSecrets } from '../config/schema.ts'
import { writtenKind } from '../core/rules/config.ts'
import { isLoopback } from '../schema/checks.ts'
import { list } from './policy.ts'

export function adviseOnOwners({ owners = [], fleets, channels }: Config): string[] {
  const without = Object.keys(fleets).filter((name) => fleets[name]!.owners === undefined)
  if (owners.length > 0 || without.length === 0) return []
  const where = without.length === Object.keys(fleets).length ? '' : ` of ${list(without)}`
  const what = `alerts${where}, such as for a silent beacon or a channel that fails, are only logged`
  return [`owners: ${what}; write "owners": ["${Object.keys(channels)[0]}"]`]
}

/** Certain only where the address is that of another host. */
export function adviseOnSignIn({ signIn, publicUrl }: Config): string[] {
  const { hostname } = new URL(publicUrl)
  if (signIn === undefined || !(isLoopback(publicUrl) || hostname.endsWith('.workers.dev')))
    return []
  const what =
    'the relay signs people in on Azure Functions only, and starts nowhere else with this'
  return [`signIn: ${what}; remove it, or host the relay there`]
}

/** A sentence names at most this many places. */
const maxNamed = 3

/** Secrets that stand in the text of the configuration itself. */
export function adviseOnSecrets(text: string, config: Config): string[] {
  const secrets = new Set(listSecrets(config))
  // a webhook is signed, so its address may be known
  for (const one of Object.values(config.channels)) {
    if (one.kind === 'webhook') secrets.delete(one.url)
    // a setting may also be the name of a queue, and a template may have a public address
    if (writtenKind(one) === 'http')
      for (const text of channelSecrets(one).filter(isHarmless)) secrets.delete(text)
  }
  const found: string[] = []
  const json = parseJson(text)
  const walk = (value: unknown, path: PropertyKey[]): void => {
    if (typeof value === 'string' && secrets.has(value)) found.push(describePath(path, json))
    if (typeof value !== 'object' || value === null) return
    for (const [key, one] of Object.entries(value)) walk(one, [...path, key])
  }
  walk(json, [])
  if (found.length === 0) return []
  const more = found.length > maxNamed ? ` and ${found.length - maxNamed} more` : ''
  const named = `${found.slice(0, maxNamed).join(', ')}${more}`
  const what = 'everybody who reads this file learns the secret'
  return [`${named}: ${what}; write "env:NAME", and give the relay the variable NAME`]
}

function isHarmless(text: string): boolean {
  return !looksSecret(text)
}
