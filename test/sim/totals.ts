// What many worlds amount to, in the one line that stands at the end.
import type { Outcome } from './world.ts'

export function createTotals() {
  const sums = {
    seeds: 0,
    events: 0,
    crashes: 0,
    reopened: 0,
    failovers: 0,
    deliveries: 0,
    broken: 0,
  }
  return {
    sums,
    add({ stats, broken }: Pick<Outcome, 'stats' | 'broken'>): void {
      sums.seeds += 1
      sums.events += stats.events
      sums.crashes += stats.crashes
      sums.reopened += stats.reopened
      sums.failovers += stats.failovers
      sums.deliveries += stats.deliveries
      if (broken.length > 0) sums.broken += 1
    },
    addSums(others: typeof sums): void {
      for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += others[name]
    },
    line(): string {
      return Object.entries(sums)
        .map(([name, value]) => `${name}=${value}`)
        .join(' ')
    },
  }
}
