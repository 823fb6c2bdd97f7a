// What a feature brings to the worlds of the simulation.
import type { Delivery } from '../../functions/core/delivery/delivery.ts'
import type { EventRecord } from '../../functions/core/event/event.ts'
import type { Route } from '../../functions/core/rules/routes.ts'
import type { Store } from '../../functions/store/store.ts'
import type { Relay } from '../../functions/use-cases/relay.ts'
import type { FaultKind, Faults } from './faults.ts'
import type { FleetName } from './planned.ts'
import type { Random } from './random.ts'

/** What an owner asks the relay for. */
export interface Act {
  /** Since the world began. */
  afterMs: number
  /** For the trace. */
  note: string
  path: string
  body(now: number): object
}

/** A beacon of the world. */
export interface SeenBeacon {
  key: string
  vm: { fleet: string; name: string }
  process: { alive: boolean }
  /** Its last report that was answered. */
  acked?: { takenAt: number; ackedAt: number; paceMs: number } | undefined
}

/** What the world shows to a book. */
export interface Watch {
  readonly now: number
  readonly met: Set<string>
  /** Fleets in which a liar speaks as other VMs. */
  readonly mistaken: ReadonlySet<string>
  readonly parts: { plan: { config: { routes: Route[] } }; faults: Faults; beacons(): SeenBeacon[] }
  broke(promise: string, text: string): void
}

/** Says where a promise of the feature is broken. */
export interface Book {
  /** The relay has done what the owner asked for. */
  acted?(body: object): void
  planned?(deliveries: Delivery[]): void
  /** A row of the store, and its body before. */
  written?(partition: string, body: string, before: string | undefined): void
  /** A relay has started again. */
  restarted?(): void
  /** Once nothing is owed and nothing is open. */
  checkEnd?(record: EventRecord, rows: Delivery[]): void
  /** After that, with all events. */
  checkAll?(records: EventRecord[]): void
}

export type Spoil = () => (store: Store) => Store

export interface SimFeature {
  /** Names its stream of chance. */
  name: string
  /** What enough worlds must meet, and the faults that bring it about. */
  encounters: Record<string, readonly FaultKind[]>
  /** Relays that are broken on purpose, and the world that shows each. */
  spoilt: Record<string, { spoil: Spoil; shownIn: number }>
  plan?(random: Random, tenants: Record<FleetName, string[][]>): Act[]
  /** What the API does for each path, where a world has no HTTP. */
  serve?: Record<string, (relay: Relay, body: string) => Promise<{ status: number; text: string }>>
  /** People are not told of the event now. */
  hides?(record: EventRecord): boolean
  openBook?(watch: Watch): Book
  /** Worlds have subscriptions, see owner.ts. */
  subscribes?: true
}
