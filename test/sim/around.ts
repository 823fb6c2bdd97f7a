// Something around each call of a store: a wait, a witness, a death.
import type { Store } from '../../functions/store/store.ts'
import type { Log } from '../../shared/log.ts'

export const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} }

const storeMethods = [
  'readEvent',
  'commit',
  'readObservers',
  'readBeacon',
  'readSightings',
  'writeBeacon',
  'dueEvents',
  'claim',
  'settle',
  'readDeliveries',
  'listEvents',
  'nextDueAt',
  'listBeacons',
  'replaceBeacon',
  'dueBeacons',
  'replay',
  'forget',
  'listHealth',
  'readHealth',
  'changeHealth',
  'giveBack',
  'removeChannel',
  'readSmallRow',
  'listSmallRows',
  'writeSmallRow',
  'removeSmallRow',
  'countOpen',
  'countBeacons',
  'readMoments',
  'addDeliveries',
  'listDeliveries',
  'listOpen',
  'findEvents',
  'findBeacons',
  'channelActivity',
  'listFailed',
] as (keyof Store)[]

/** The store with something around each of its calls. */
export function around(
  store: Store,
  wrap: (name: keyof Store, args: unknown[], call: () => Promise<unknown>) => Promise<unknown>,
): Store {
  const wrapped = storeMethods.map((name) => {
    const method = store[name] as (...args: unknown[]) => Promise<unknown>
    const call = (...args: unknown[]) => wrap(name, args, () => method.apply(store, args))
    return [name, call] as const
  })
  const lastPosition = (now: number) => store.lastPosition(now)
  return { ...Object.fromEntries(wrapped), lastPosition } as unknown as Store
}
