// When a report is answered on Azure Functions: at once if the storage hangs, so that its beacon sends it again,
// and as soon as it is stored otherwise. More reports than the instance can work on are refused before the work:
// while it is slow, each repetition would make it slower.
import { messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { within } from '../../../shared/within.ts'
import { problemHeaders, problemText, type Refusal, storageAway } from '../../http/problem.ts'
import { createFrequentLog, type FrequentLog } from '../../use-cases/frequent-log.ts'

/** Twice what the template lets the platform give to one instance at a time. */
const maxReports = 64
/** A storage call that has not returned for this long hangs. */
const hungMs = 4_000
/** When the storage is looked at first, and how often after that. */
const firstLookMs = 4_500
const lookMs = 500
/** Beacons wait 10 s. */
const longestMs = 9_000

const overloaded: Refusal = {
  status: 503,
  code: 'relay_overloaded',
  detail: 'this relay has more reports than it can work on at a time; send the request again',
}

interface Options {
  /** How long the storage has not answered a call. */
  storageWaitsMs: () => number
  isSecure: boolean
  log: Log
  now: () => number
}

export class ReportAnswers {
  readonly #options: Options
  readonly #refusals: FrequentLog
  #underWay = 0

  constructor(options: Options) {
    this.#options = options
    this.#refusals = createFrequentLog(options, 60_000)
  }

  /** `work` calls `ready` once the answer is known, and then waits for the channels. */
  async answer(
    work: (ready: (response: Response) => void) => Promise<Response>,
  ): Promise<Response> {
    if (this.#underWay >= maxReports) return this.#refuse(overloaded)
    this.#underWay += 1
    let known: Response | undefined
    const ready = (response: Response) => {
      known = response
    }
    const working = work(ready).finally(() => {
      this.#underWay -= 1
    })
    for (let ms = firstLookMs; ; ms += lookMs) {
      const response = await within(ms === firstLookMs ? firstLookMs : lookMs, working)
      if (response !== 'late') return response
      if (known !== undefined) return known
      const isHung = this.#options.storageWaitsMs() >= hungMs
      if (!isHung && ms < longestMs) continue
      // the beacon reports again, so what is stored later is no loss
      working.catch((error) => {
        this.#options.log.error('report_failed', { error: messageOf(error) })
      })
      return this.#refuse(isHung ? storageAway : overloaded)
    }
  }

  #refuse(refusal: Refusal): Response {
    const { code, status } = refusal
    this.#refusals.note('reports_refused', { code, underWay: this.#underWay }, code)
    const headers = problemHeaders(status, this.#options.isSecure)
    return new Response(problemText(refusal), { status, headers })
  }
}
