// The way from a beacon to the relay and back: reports get lost, doubled and late, and so do answers.
import type { Relay, Sent } from '../../beacon/relay-client.ts'
import { answerSchema, fleetHeader, type Report, reportPath } from '../../shared/report.ts'
import { sign } from '../../shared/signature.ts'
import { prodKey, testKey } from '../support/world.ts'
import type { Beacon } from './beacons.ts'
import type { Cluster } from './cluster.ts'
import type { Faults } from './faults.ts'
import type { VmImds } from './imds.ts'
import type { Judge } from './judge.ts'
import type { Kernel } from './kernel.ts'
import type { FleetName } from './plan.ts'
import type { Random } from './random.ts'
import type { Reply } from './workers.ts'

const timeoutMs = 10_000
const keys = { prod: prodKey, test: testKey }

interface Parts {
  kernel: Kernel
  faults: Faults
  cluster: Cluster
  judge: Judge
  calmAt: number
  http: boolean
}

interface Posting {
  body: string
  headers: Record<string, string>
  signal: AbortSignal
  waitMs: number
}

export async function signedHeaders(
  fleet: FleetName,
  id: string,
  at: number,
  body: string,
): Promise<Record<string, string>> {
  return { ...(await sign([keys[fleet]], id, at, body)), [fleetHeader]: fleet }
}

export class Network {
  readonly #parts: Parts
  #ids = 0
  #cutUntil = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** No report arrives for so long. */
  cut(ms: number): void {
    this.#cutUntil = this.#parts.kernel.now + ms
  }

  /** What one beacon has for a relay. */
  relayOf(beacon: Beacon, imds: VmImds, random: Random): Relay {
    let offsetMs = 0
    return {
      send: async (build, signal, waitMs = 0) => {
        const once = async () => {
          beacon.refresh(imds)
          const body = withHooks(build(), beacon)
          const at = this.#parts.kernel.now + beacon.offsetMs + offsetMs
          const headers = await this.#headers(beacon, body, at)
          return this.#attempt(beacon, { body, headers, signal, waitMs }, random)
        }
        const first = await once()
        const problem = first?.status === 401 ? JSON.parse(first.text) : {}
        if (typeof problem.time !== 'number') return readReply(first, beacon)
        offsetMs = problem.time - (this.#parts.kernel.now + beacon.offsetMs)
        return readReply(await once(), beacon)
      },
    }
  }

  async #headers({ vm }: Beacon, body: string, at: number): Promise<Record<string, string>> {
    return this.#parts.http ? signedHeaders(vm.fleet, `report-${++this.#ids}`, at, body) : {}
  }

  #attempt(
    beacon: Beacon,
    { body, headers, signal, waitMs }: Posting,
    random: Random,
  ): Promise<Reply> {
    const { kernel, faults, cluster, judge, calmAt } = this.#parts
    const strikes = (rate: number) => kernel.now < calmAt && random.chance(rate)
    const doubled = strikes(faults.report_doubled * 2)
    const lost = strikes(faults.report_lost * 2) || kernel.now < this.#cutUntil
    const answerLost = strikes(faults.answer_lost * 2)
    const delayMs = () => {
      if (!strikes(faults.report_delayed * 2)) return random.int(5, 80)
      return random.chance(0.8) ? random.int(500, 9_000) : random.int(10_000, 50_000)
    }
    const { process } = beacon
    return kernel.park<Reply>(process, (resume) => {
      const copies = lost ? 0 : doubled ? 2 : 1
      kernel.after(timeoutMs + waitMs, () => resume(undefined), process)
      const breakOff = () => {
        if (waitMs > 0) judge.met.add('a beacon breaks a held report off')
        resume(undefined)
      }
      signal.addEventListener('abort', breakOff, { once: true })
      if (lost) judge.note(`a report of ${beacon.vm.name} is lost`)
      for (let copy = 0; copy < copies; copy++) {
        const request = {
          path: reportPath,
          fleet: beacon.vm.fleet,
          body,
          headers,
          onTaken: () => {
            judge.hooks.arrived(beacon.vm.fleet, beacon.vm.name, JSON.parse(body))
          },
        }
        const arrive = () =>
          cluster.post(request, (reply) => {
            this.#tell(beacon, body, reply)
            if (answerLost) this.#lose(beacon, reply)
            if (copy > 0 || answerLost) return
            const hear = () => {
              signal.removeEventListener('abort', breakOff)
              resume(reply)
            }
            kernel.after(random.int(5, 60), hear, process)
          })
        kernel.after(delayMs(), arrive)
      }
    })
  }

  #lose({ vm }: Beacon, reply: Reply): void {
    if (reply?.status !== 200) return
    this.#parts.judge.events.answerLost(vm.fleet, answerSchema.parse(JSON.parse(reply.text)))
  }

  #tell(beacon: Beacon, body: string, reply: Reply): void {
    if (reply?.status !== 200) return
    const report = JSON.parse(body) as Report
    const answer = answerSchema.parse(JSON.parse(reply.text))
    // a held answer may come after that to a later report
    if (answer.time < (beacon.acked?.takenAt ?? 0)) return
    this.#parts.judge.acknowledged(beacon, report, answer)
    if (answer.outcome === 'accepted') beacon.acknowledged(report, answer)
  }
}

function withHooks(body: string, { hooks, state }: Beacon): string {
  if (hooks === undefined) return body
  const shown = hooks.shown([...(state?.document?.events ?? [])])
  return JSON.stringify({ ...JSON.parse(body), hooks: shown })
}

function readReply(reply: Reply, { hooks, state }: Beacon): Sent {
  if (reply === undefined) return { kind: 'failed', reason: 'no answer' }
  const { status, text } = reply
  if (status === 200) {
    const answer = answerSchema.parse(JSON.parse(text))
    const reported = [...(state?.document?.events ?? [])]
    if (answer.outcome === 'accepted') hooks?.answered(reported, answer.preparations)
    return { kind: 'accepted', answer }
  }
  if (status === 409) return { kind: 'retired' }
  if (status >= 500) return { kind: 'failed', reason: text, status }
  return { kind: 'refused', reason: text, status, code: JSON.parse(text).code }
}
