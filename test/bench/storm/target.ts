// What a storm can be sent to: a process of its own that takes POSTs and tells a sink.
import { rmSync } from 'node:fs'
import type { Prepare } from './plan.ts'
import type { StormSink } from './sink.ts'

export interface Target {
  pid: number
  port: number
  /** What it keeps on disk. */
  folder: string
  sink: StormSink
  prepare: Prepare
  /** The moment that an event's first report brings. */
  first: string
  /** All that it tells of an event's life, each once. */
  moments: readonly string[]
  stop(): Promise<void>
}

/** Sees to it that neither outlives this process, also where a signal ends it. Returns the undoing. */
export function tieToThisProcess(pid: number, directory: string): () => void {
  const end = () => {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // it has ended already
    }
    rmSync(directory, { recursive: true, force: true })
  }
  // where a signal ends the process by itself, nobody is told of the exit
  const leave = () => process.exit(1)
  process.once('exit', end).once('SIGINT', leave).once('SIGTERM', leave)
  return () => void process.off('exit', end).off('SIGINT', leave).off('SIGTERM', leave)
}
