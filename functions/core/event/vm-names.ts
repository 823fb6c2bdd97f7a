// The list of VMs that an event hits, as beacons' documents show it. Each beacon's sighting is stored,
// and a report reads those of all observers. So a long list is stored in part, with its hash.
import { hash } from '../hash.ts'
import { isHit } from './event.ts'
import type { SightedEvent } from './observer.ts'

type Names = Pick<SightedEvent, 'resources' | 'namesHash'>

/** Names as JSON, in characters. About 100 names of 18 characters. */
const maxStoredLength = 2_000

/**
 * Of an event, as JSON. Room for 1,000 names of 75 characters: Azure's have at most 64, and a number
 * in a scale set.
 */
const maxNamesLength = 80_000

/** The first names that fit into one event, together with the names that it already has. */
export function namesThatFit(names: string[], beside: string[] = []): string[] {
  let left = Math.min(maxNamesLength, maxNamesLength - JSON.stringify(beside).length)
  const end = names.findIndex((name) => {
    left -= JSON.stringify(name).length + 1
    return left < 0
  })
  return end === -1 ? names : names.slice(0, end)
}

/** The keys of long lists. Many reads of an event share one list, and nothing changes it. */
const keys = new WeakMap<string[], string>()
/** For shorter lists, computing the key again is faster than looking it up. */
const longList = 16

/** Equal for equal lists: case, order and repetition do not matter. Undefined if no VM is named. */
export function namesKey({ resources, namesHash }: Names): string | undefined {
  if (namesHash !== undefined) return namesHash
  if (resources.length === 0) return undefined
  if (resources.length < longList) return keyOf(resources)
  const key = keys.get(resources) ?? keyOf(resources)
  keys.set(resources, key)
  return key
}

function keyOf(resources: string[]): string {
  const names = [...new Set(resources.map((name) => name.toLowerCase()))].sort()
  const text = JSON.stringify(names)
  return text.length > maxStoredLength ? hash(text) : text
}

/** For a sighting. Of a long list, only names that fit stay, among them that of the beacon's VM. */
export function withStoredNames(event: SightedEvent, vm: string): SightedEvent {
  // one name is never long
  if (event.namesHash !== undefined || event.resources.length === 1) return event
  const key = namesKey(event)
  if (key === undefined || key.startsWith('[')) return event
  const resources = isHit(event, vm) ? [vm] : []
  let left = maxStoredLength - JSON.stringify(resources).length
  for (const name of event.resources) {
    left -= JSON.stringify(name).length + 1
    if (left < 0) break
    if (!isHit({ resources }, name)) resources.push(name)
  }
  return { ...event, resources, namesHash: key }
}
