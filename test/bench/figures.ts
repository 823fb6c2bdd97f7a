// What a bench gives, and how figures are drawn from many measurements.

export interface Figure {
  name: string
  value: number
  unit: string
}

/** The value below which `share` (0 to 1) of the measurements lie. */
export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function spread(name: string, values: number[]): Figure[] {
  return [
    { name: `${name} p50`, value: percentile(values, 0.5), unit: 'ms' },
    { name: `${name} p95`, value: percentile(values, 0.95), unit: 'ms' },
  ]
}

/** The usual and the worst, with `ending` after their names. */
export function times(name: string, ending: string, values: number[]): Figure[] {
  return [
    { name: `${name} p50${ending}`, value: percentile(values, 0.5), unit: 'ms' },
    { name: `${name} p99${ending}`, value: percentile(values, 0.99), unit: 'ms' },
  ]
}
