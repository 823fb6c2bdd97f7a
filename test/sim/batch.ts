// One thread of `npm run sim`. It runs the seeds it is given, in chunks, and answers with their
// totals.
import { parentPort, workerData } from 'node:worker_threads'
import { createTotals } from './totals.ts'
import { type Options, runWorld } from './world.ts'

/** Seeds from `first` on. */
export interface Chunk {
  first: number
  count: number
}

export interface Ran {
  sums: ReturnType<typeof createTotals>['sums']
  /** The number of worlds that had each encounter. */
  met: Map<string, number>
  broken: { seed: number; promise: string }[]
}

const options = workerData as Options

parentPort?.on('message', async (chunk: Chunk) => parentPort!.postMessage(await run(chunk)))

async function run({ first, count }: Chunk): Promise<Ran> {
  const totals = createTotals()
  const met: Ran['met'] = new Map()
  const broken: Ran['broken'] = []
  for (let seed = first; seed < first + count; seed++) {
    const outcome = await runWorld(seed, options)
    totals.add(outcome)
    for (const what of outcome.met) met.set(what, (met.get(what) ?? 0) + 1)
    const [one] = outcome.broken
    if (one !== undefined) broken.push({ seed, promise: one.promise })
  }
  return { sums: totals.sums, met, broken }
}
