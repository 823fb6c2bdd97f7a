// Waits of held answers that end when a test says so.
import { createHolds } from '../../functions/host/holds.ts'
import type { Answer, Report } from '../../shared/report.ts'
import { world } from './relay.ts'
import { type event, FakeBeacon } from './world.ts'

type Options = NonNullable<Parameters<typeof createHolds>[0]>

export interface Waits {
  /** The length of each wait that began, in ms. */
  begun: number[]
  /** The time of all waits is over. */
  passAll(): void
  /** Resolves once `count` waits have begun. */
  until(count: number): Promise<void>
}

/** Gives the relay of this test such waits. */
export function controlWaits(places?: Options['places']): Waits {
  const begun: number[] = []
  const ends: (() => void)[] = []
  let changed = () => {}
  world.relay.work.holds = createHolds({
    ...(places && { places }),
    wait: (ms, register) =>
      new Promise((resolve) => {
        begun.push(ms)
        ends.push(resolve)
        register(resolve)
        changed()
      }),
  })
  return {
    begun,
    passAll: () => {
      for (const end of ends) end()
    },
    async until(count) {
      while (begun.length < count) {
        await new Promise<void>((resolve) => {
          changed = resolve
        })
      }
    },
  }
}

/** A beacon that lets the relay hold its answers. */
export class WaitingBeacon extends FakeBeacon {
  async waits(
    events: ReturnType<typeof event>[],
    { waitMs = 60_000, ...extra }: { waitMs?: number; hooks?: Report['hooks'] } = {},
  ): Promise<Answer> {
    const response = await this.post({ ...this.body(events, extra), waitMs })
    return (await response.json()) as Answer
  }
}
