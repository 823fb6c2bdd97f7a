// What the beacon and the runner of hooks say to each other: one JSON object a line. The beacon asks
// for a run of `prepare` or `restore` for an event. It cannot name a program, a path or an argument.

import { statSync } from 'node:fs'
import type { Socket } from 'node:net'
import * as z from 'zod/mini'
import { limits, scheduledEventSchema } from '../../shared/document.ts'
import { messageOf } from '../../shared/errors.ts'
import { hookSchema, maxHookNote, maxWorkloads } from '../../shared/report.ts'

/** An event with 1,000 names of 256 characters fits. */
export const maxLineBytes = 2 * 1024 * 1024
/** No hook may run longer, whatever the beacon asks. */
export const longestRunMs = 86_400_000
/** A node has one on record. */
const maxPrepared = 1
/** Runs that ended, as the runner remembers them. */
export const maxEnded = 100

const epochMs = z.number().check(z.minimum(0), z.maximum(8.64e15))
const note = z.string().check(z.maxLength(maxHookNote))
const runId = z.string().check(z.minLength(1), z.maxLength(64))

const orderSchema = z.object({
  /** The id is unique: the same order twice is one run. */
  run: runId,
  hook: hookSchema,
  limitMs: z.number().check(z.minimum(1), z.maximum(longestRunMs)),
  vm: z.string().check(z.minLength(1), z.maxLength(limits.name)),
  event: scheduledEventSchema,
  firstSeenAt: epochMs,
  /** Only for `restore`: when the event ended. */
  endedAt: z.optional(epochMs),
})
export type Order = z.infer<typeof orderSchema>

export const questionSchema = z.discriminatedUnion('ask', [
  z.object({ ask: z.literal('status') }),
  z.object({ ask: z.literal('run'), order: orderSchema }),
  /** The event of this run is over. */
  z.object({ ask: z.literal('over'), run: runId }),
])
export type Question = z.infer<typeof questionSchema>

/** Whether the runner would run a hook. */
const presenceSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('ready') }),
  z.object({ state: z.literal('absent') }),
  z.object({ state: z.literal('refused'), note }),
])
export type Presence = z.infer<typeof presenceSchema>

const endedSchema = z.object({
  run: runId,
  state: z.enum(['succeeded', 'failed', 'refused']),
  ageMs: z.number().check(z.minimum(0)),
  exitCode: z.optional(z.int()),
  note: z.optional(note),
})
export type Ended = z.infer<typeof endedSchema>

const statusSchema = z.object({
  prepare: presenceSchema,
  restore: presenceSchema,
  /** The id of the run. */
  running: z.optional(runId),
  /** What holds that run up. */
  held: z.optional(note),
  /** The newest last. */
  ended: z.array(endedSchema).check(z.maxLength(maxEnded)),
  /** The name of this VM's Kubernetes node. */
  node: z.optional(z.string()),
  /** What the node runs, or ran before it was drained. */
  workloads: z.optional(z.array(z.string()).check(z.maxLength(maxWorkloads))),
  /** Events that this VM is still prepared for, by what the node has on record. */
  prepared: z.optional(z.array(scheduledEventSchema).check(z.maxLength(maxPrepared))),
})
export type Status = z.infer<typeof statusSchema>

/** A status, and how many questions of this connection it takes into account. */
export const answerSchema = z.object({ heard: z.int().check(z.minimum(0)), status: statusSchema })

const connectTimeoutMs = 5_000

/** The socket, or a sentence that says why there is none. */
export async function connected(path: string): Promise<Socket | string> {
  const obstacle = obstacleTo(path)
  if (obstacle !== undefined) return obstacle
  const { connect } = process.getBuiltinModule('node:net')
  return new Promise((resolve) => {
    const socket = connect(path)
    const fail = (reason: string) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(reason)
    }
    const timer = setTimeout(() => fail(`${path} does not answer`), connectTimeoutMs)
    socket.on('error', (error) => fail(messageOf(error)))
    socket.once('connect', () => {
      clearTimeout(timer)
      resolve(socket)
    })
  })
}

/**
 * Why nobody can answer there. Most VMs have no hooks, so the beacon loads node:net only if there is
 * a socket. A pipe of Windows is no file.
 */
function obstacleTo(path: string): string | undefined {
  try {
    if (process.platform !== 'win32') statSync(path)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** Closes the connection if a line is too long. */
export function readLines(socket: Socket, onLine: (line: string) => void): void {
  const decoder = new TextDecoder()
  let rest = ''
  socket.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (!socket.destroyed) onLine(line)
    if (rest.length > maxLineBytes) socket.destroy()
  })
}
