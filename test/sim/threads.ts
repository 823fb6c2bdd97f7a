// Runs seeds on all cores. The choice of thread changes nothing: a world depends on its seed alone.
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Chunk, Ran } from './batch.ts'
import type { Options } from './world.ts'

/** Small enough that no core waits long for another at the end. */
const seedsPerChunk = 20

/** Gives out the seeds from `first` on, in order. Calls `ran` after each chunk, in any order. */
export async function runSeeds(
  { first, count }: Chunk,
  options: Options,
  ran: (result: Ran) => void,
): Promise<void> {
  const end = first + count
  let next = first
  const take = (): Chunk | undefined => {
    if (next >= end) return undefined
    const chunk = { first: next, count: Math.min(seedsPerChunk, end - next) }
    next += chunk.count
    return chunk
  }
  const threads = Math.min(availableParallelism(), Math.ceil(count / seedsPerChunk))
  await Promise.all(Array.from({ length: threads }, () => runThread(options, take, ran)))
}

function runThread(
  options: Options,
  take: () => Chunk | undefined,
  ran: (result: Ran) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./batch.ts', import.meta.url), { workerData: options })
    const goOn = () => {
      const chunk = take()
      if (chunk === undefined) void thread.terminate().then(() => resolve())
      else thread.postMessage(chunk)
    }
    thread.on('message', (result: Ran) => {
      ran(result)
      goOn()
    })
    thread.on('error', reject)
    goOn()
  })
}
