// How often links are answered, for each relay process. Wrong tokens share one budget, right ones have
// their own, so that no number of wrong ones keeps a person from deciding. The surprise: looking,
// watching and deciding have separate budgets too, since a whole channel holds the same link.
import type { Log } from '../../shared/log.ts'
import { afterTurns, freeAt, type Rate, turnsAt, unlimited } from '../core/rate.ts'

/** Answered by name, all together; what is beyond gets 429. */
export const wrongRate: Rate = { ...unlimited, everyMs: 50, burst: 20 }
/** For each link and use of it. */
export const rightRate: Rate = { ...unlimited, everyMs: 100, burst: 60 }
/** The link that was used longest ago makes room, and has rested by then. */
const maxLinks = 2_000
const logEveryMs = 1_000

export type Use = 'look' | 'watch' | 'decide'

/** `waitSeconds`: for Retry-After. */
export type Turn = { outcome: 'granted' } | { outcome: 'busy'; waitSeconds: number }

export interface LinkGuard {
  /** A token that no key of ours signed was shown. */
  wrong(): Turn
  /** A right one, which `link` names, is used. */
  right(link: string, use: Use): Turn
}

export function createLinkGuard({ now, log }: { now(): number; log: Log }): LinkGuard {
  const spentUntil = new Map<string, number>()
  let wrongSpentUntil = 0
  let unsaid = 0
  let saidAt = Number.NEGATIVE_INFINITY

  /** One line a second at most: whoever tries tokens must not fill the log. */
  function note(at: number): void {
    unsaid += 1
    if (at - saidAt < logEveryMs) return
    log.warn('links_refused', { count: unsaid })
    unsaid = 0
    saidAt = at
  }

  return {
    wrong() {
      const at = now()
      note(at)
      const turn = take(wrongRate, wrongSpentUntil, at)
      wrongSpentUntil = turn.spentUntil
      return turn.answer
    },
    right(link, use) {
      const name = `${use} ${link}`
      const turn = take(rightRate, spentUntil.get(name) ?? 0, now())
      spentUntil.delete(name)
      spentUntil.set(name, turn.spentUntil)
      const oldest = spentUntil.keys().next().value
      if (spentUntil.size > maxLinks && oldest !== undefined) spentUntil.delete(oldest)
      return turn.answer
    },
  }
}

function take(rate: Rate, spentUntil: number, at: number): { answer: Turn; spentUntil: number } {
  if (turnsAt(rate, spentUntil, at) > 0) {
    return { answer: { outcome: 'granted' }, spentUntil: afterTurns(rate, spentUntil, at, 1) }
  }
  const waitSeconds = Math.max(1, Math.ceil((freeAt(rate, spentUntil, at) - at) / 1_000))
  return { answer: { outcome: 'busy', waitSeconds }, spentUntil }
}
