// The searches of beacons. Names have a table, and the few beacons that are silent or have left have an
// index, so that a search does not read a whole fleet.
import { shownState } from '../../core/event/silence.ts'
import type { BeaconSearch, BeaconsFound } from '../browse.ts'
import type { ListedBeacon } from '../listed-beacon.ts'
import { browseSql } from './browse-sql.ts'
import type { Row } from './database.ts'
import { parse } from './rows.ts'
import type { Statements } from './statements.ts'

/** Rows of one step, and steps of one page: what a search skips has a limit. */
const stepSize = 200
const maxSteps = 10
const last = '\u{10ffff}'

interface Step {
  rows: Row[]
  placeOf(row: Row): [first: string | number, beacon: string]
}

export class BrowseBeacons {
  readonly #statements: Statements

  constructor(statements: Statements) {
    this.#statements = statements
  }

  find(search: BeaconSearch): BeaconsFound {
    const { state, limit, now, after } = search
    const prefix = (search.prefix ?? '').toLowerCase()
    const isWanted = (one: ListedBeacon) =>
      (state === undefined || shownState(one, now) === state) &&
      one.vm.toLowerCase().startsWith(prefix)
    const found: { beacon: ListedBeacon; place: string }[] = []
    let place = after
    for (let steps = 0; steps < maxSteps; steps++) {
      const step = this.#step(search, prefix, place)
      if (step === undefined) return { beacons: [] }
      for (const row of step.rows) {
        place = step
          .placeOf(row)
          .map((part) => encodeURIComponent(String(part)))
          .join('/')
        const beacon = toListed(row)
        if (isWanted(beacon)) found.push({ beacon, place })
      }
      const beacons = found.slice(0, limit).map((one) => one.beacon)
      if (found.length > limit) return { beacons, next: found[limit - 1]!.place }
      if (step.rows.length < stepSize) return { beacons }
    }
    const beacons = found.map((one) => one.beacon)
    return place === undefined ? { beacons } : { beacons, next: place }
  }

  /** Undefined: the place is none of this store. */
  #step({ fleet, state }: BeaconSearch, prefix: string, place?: string): Step | undefined {
    const parts = place?.split('/')
    if (parts !== undefined && parts.length !== 2) return undefined
    const [first = '', beacon = ''] = (parts ?? []).map(decoded)
    if (state === 'silent' || state === 'left') {
      const text = state === 'silent' ? browseSql.silentBeacons : browseSql.leftBeacons
      const rows = this.#statements.all(text, fleet, Number(first), beacon, stepSize)
      return { rows, placeOf: (row) => [Number(row.heard_at), String(row.beacon)] }
    }
    const from = place === undefined ? prefix : first
    const rows = this.#statements.all(
      browseSql.beaconsByName,
      ...[fleet, prefix + last, from, beacon, stepSize],
    )
    return { rows, placeOf: (row) => [String(row.name), String(row.beacon)] }
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // a text that a person changed
    return ''
  }
}

function toListed(row: Row): ListedBeacon {
  const listed = Object.entries(parse<ListedBeacon>(row.listed)).filter(([, part]) => part !== null)
  return { ...(Object.fromEntries(listed) as ListedBeacon), seesEvents: Number(row.sees_events) }
}
