// A metadata service whose documents are late: always by seconds, or unchanged for minutes. Its
// polls work.
import type { Kernel } from './kernel.ts'
import type { Platform } from './platform.ts'
import type { Random } from './random.ts'

const second = 1_000

export interface Lag {
  /** What a poll receives now. */
  text(): string
}

/** `fresh` is what a working service would show. */
export function createLag(
  kernel: Kernel,
  platform: Platform,
  luck: Random,
  fresh: () => string,
): Lag {
  const behindMs = luck.pick([2, 8, 14, 14]) * second
  const from = kernel.now + luck.int(20, 150) * second
  const frozen = luck.chance(0.4) ? { from, until: from + luck.int(40, 180) * second } : undefined
  /** What it has shown, and since when; the newest last. */
  let shown: { at: number; text: string }[] = []
  const note = () => {
    const text = fresh()
    if (shown.at(-1)?.text === text) return
    shown.push({ at: kernel.now, text })
    if (frozen === undefined) kernel.after(behindMs, () => platform.wake())
  }
  if (frozen !== undefined) kernel.after(frozen.until - kernel.now, () => platform.wake())
  // it began before the world, and survives every process
  kernel.after(0, () => {
    note()
    platform.watchers.add(note)
  })
  return {
    text() {
      note()
      const { now } = kernel
      const isFrozen = frozen !== undefined && frozen.from <= now && now < frozen.until
      const until = isFrozen ? frozen.from : frozen === undefined ? now - behindMs : now
      const past = shown.filter(({ at }) => at <= until)
      shown = shown.slice(Math.max(0, past.length - 1))
      return (past.at(-1) ?? shown[0])!.text
    },
  }
}
