// What a bench without Azure cannot measure, each with where it comes from. All of it is printed with the figures.
import { readFileSync } from 'node:fs'

const day = 86_400
/** A twelfth of a year. */
export const monthSeconds = (365.25 * day) / 12

export const assumed = {
  /** One request to Tables or Queues from a function of the same region. */
  storageCallMs: 8,
  /** A channel takes a message. */
  channelMs: 300,
  /** Host, worker and relay around that, on a quarter of a core. */
  ownMs: 15,
  /** Of one report on one core: 2.1 in `npm run bench -- azure`, and what Azure's own host takes. */
  processorMs: 3,
  /** Share of its processor that an instance can be kept busy with before another one is needed. */
  fullLoad: 0.6,
  /** An instance of 2 048 MB has one core, and others have theirs in proportion. */
  coresPerGb: 0.5,
  /** On the old plan, host and worker together: the worker has 320 under load in `npm run bench -- azure`. */
  consumptionMemoryMb: 512,
  /** A line of log is a row with some twenty columns beside its message. */
  logRowBytes: 650,
  /** "Executing …" with its reason and "Executed …" with its duration. */
  hostLinesBytes: 130 + 90,
  /** The schedule's state, and the lock that keeps a timer single. */
  blobWritesPerTimerRun: 2,
  /** Whoever watches the queue asks so often (infra/azure/host.json: maxPollingInterval). */
  queuePollSeconds: 2,
} as const

interface HostFile {
  logging: { logLevel: Record<string, string> }
}

const read = (file: string) =>
  readFileSync(new URL(`../../../infra/azure/${file}`, import.meta.url), 'utf8')

/** What the shipped infrastructure says. */
export function shipped() {
  const parameter = (name: string) =>
    Number(new RegExp(`param ${name} \\w+ = '?(\\d+)`).exec(read('main.bicep'))?.[1])
  const { logLevel } = (JSON.parse(read('host.json')) as HostFile).logging
  const linesOf = (name: string) =>
    (logLevel[`Function.${name}`] ?? logLevel.Function) === 'Information' ? 2 : 0
  return {
    memoryMb: parameter('instanceMemoryMB'),
    concurrency: parameter('httpConcurrency'),
    logCapGbADay: parameter('logDailyCapGb'),
    /**
     * The host says when each execution begins and ends, at Information in the category `Function.<name>`:
     * https://learn.microsoft.com/azure/azure-functions/configure-monitoring
     */
    hostLines: { relay: linesOf('relay'), wake: linesOf('wake'), sweep: linesOf('sweep') },
  }
}
