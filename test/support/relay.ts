// The relay that a test runs against. `startRelay` makes a new one; `world` and `beacon` are always those of the
// test that runs. Test files of one process run one after another, so they can share them.
import { afterEach, beforeEach } from 'vitest'
import { createWorld, event, eventId, FakeBeacon, type World } from './world.ts'

export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute

export let world: World
/** On the VM that `event()` hits. */
export let beacon: FakeBeacon

interface Options extends Omit<NonNullable<Parameters<typeof createWorld>[0]>, 'config'> {
  /** The beacon's VM. */
  vm?: string
}

export async function startRelay(config: object = {}, options: Options = {}): Promise<void> {
  const { vm = 'web_0', ...others } = options
  world = await createWorld({ config, ...others })
  beacon = new FakeBeacon(world, vm)
}

/** Starts with one event, and its channels have been notified of it. */
export async function startWithEvent(config?: object, options?: Options): Promise<void> {
  await startRelay(config, options)
  await report(event())
}

/** The beacon sees these events, and everything due is sent. */
export async function report(...events: ReturnType<typeof event>[]): Promise<void> {
  await beacon.sees(events)
  await world.drain()
}

/** Each test of this file has a relay of its own. */
export function relayForEach(prepare: () => Promise<void> = async () => {}): void {
  beforeEach(async () => {
    await startRelay()
    await prepare()
  })
  afterEach(() => world.store.close())
}

/** Of the webhook channel, in order. */
export function moments(): string[] {
  return world.told().map((type) => type.replace('foghorn.event.', ''))
}

export async function eventNow(id = eventId) {
  return (await world.getEvent(id)).body
}

/** Where the event is, and how it ended. */
export async function outcome() {
  const { phase, outcome, inferred } = await eventNow()
  return { phase, outcome, inferred }
}
