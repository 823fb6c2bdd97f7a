import type { Config } from './config.ts'

/** The channels for a fleet's alerts: the fleet's own owners, else those of the configuration. */
export function listOwners({ fleets, owners = [] }: Config, fleet: string): string[] {
  const own = Object.hasOwn(fleets, fleet) ? fleets[fleet]!.owners : undefined
  return [...new Set(own ?? owners)]
}
