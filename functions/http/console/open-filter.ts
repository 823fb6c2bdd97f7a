// The filter of pages that show open events, as their address has it.
import * as z from 'zod'
import type { ShownFilter } from '../../pages/console/open-filter.ts'

const text = z.string().max(200).optional()
export const openQuery = { fleet: text, type: text, q: text }

export interface Chosen {
  filter: Omit<ShownFilter, 'fleets'>
  fleets: string[]
}

interface Query {
  fleet?: string | undefined
  type?: string | undefined
  q?: string | undefined
}

/** `fleets`: those that the visitor sees. */
export function chosenBy(
  { fleet = '', type = '', q = '' }: Query,
  fleets: string[],
): Chosen | { refusal: string } {
  if (fleet !== '' && !fleets.includes(fleet)) {
    // a misspelt one would look like a fleet without events
    return { refusal: `fleet: write one of ${fleets.map((one) => `"${one}"`).join(', ')}` }
  }
  return { filter: { fleet, type, q: q.trim() }, fleets: fleet === '' ? fleets : [fleet] }
}
