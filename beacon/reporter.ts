// The loop that reports to the relay: at once if there is news, otherwise at the pace that the
// relay asked for. A failed report is not sent again: the next one is built from the state by then.
import type { Log } from '../shared/log.ts'
import { contentCodes, type Directive, type Goodbye, type Refused } from '../shared/report.ts'
import { type Backoff, backoffMs } from '../shared/retry.ts'
import { createTroubleLog, type TroubleLog } from './log-once.ts'
import type { Sent } from './relay-client.ts'
import { type BuiltReport, buildReport, type Facts } from './report.ts'
import type { Parts, State } from './state.ts'

/** Two reports are at least this far apart, whatever the relay answers. */
const shortestGapMs = 200
/** While an event is open, minutes count. */
const openBackoff: Backoff = { baseMs: 1_000, capMs: 10_000 }
const idleBackoff: Backoff = { baseMs: 1_000, capMs: 60_000 }
/** If the relay rejects the content of this many reports, the oldest item is given up. */
const maxContentRefusals = 3
/** The last report may take this long. The relay usually answers within some milliseconds. */
const goodbyeMs = 2_000

/**
 * `direct` receives the relay's directives, with canonical event ids. `whyStopping` is asked once,
 * when the loop ends. Without a reason there is no last report.
 */
export async function reportLoop(
  parts: Parts,
  state: State,
  direct: Direct,
  stop: AbortSignal,
  whyStopping: () => Promise<Goodbye | undefined> = async () => undefined,
): Promise<void> {
  const reporter = new Reporter(parts, state, direct)
  let sentAt = Number.NEGATIVE_INFINITY
  for (;;) {
    await state.reportTimer.wait(stop, sentAt + shortestGapMs)
    if (stop.aborted) break
    sentAt = parts.clock.monotonic()
    const { waitMs } = reporter
    const send = (signal: AbortSignal) =>
      parts.relay.send(() => reporter.build({ waitMs }), signal, waitMs)
    const sent = await (waitMs === undefined ? send(stop) : sendUntilNews(state, stop, send))
    if (stop.aborted) break
    if (sent !== undefined) state.reportTimer.bring(parts.clock.monotonic() + reporter.handle(sent))
  }
  if (reporter.isKnown) await sayGoodbye(parts, reporter, whyStopping)
}

/** Ends the request once there is news, and then returns undefined. */
async function sendUntilNews(
  state: State,
  stop: AbortSignal,
  send: (signal: AbortSignal) => Promise<Sent>,
): Promise<Sent | undefined> {
  const news = state.reportTimer.brought()
  const end = () => news.abort()
  stop.addEventListener('abort', end)
  const sent = await send(news.signal)
  stop.removeEventListener('abort', end)
  return news.signal.aborted && sent.kind === 'failed' ? undefined : sent
}

async function sayGoodbye(
  { clock, relay, log }: Parts,
  reporter: Reporter,
  whyStopping: () => Promise<Goodbye | undefined>,
): Promise<void> {
  const over = new AbortController()
  void clock.sleep(goodbyeMs, over.signal).then(() => over.abort())
  const goodbye = await whyStopping()
  if (goodbye !== undefined) {
    const sent = await relay.send(() => reporter.build({ goodbye }), over.signal)
    reporter.handleLast(sent)
    log.info('goodbye_sent', { goodbye, accepted: sent.kind === 'accepted' })
  }
  over.abort()
}

/** The boot that reports name. It is new at each start, and after the relay retired the old one. */
interface Boot {
  id: string
  counter: number
}

/** What only some reports have. */
type Special = Pick<Facts, 'goodbye' | 'waitMs'>

type Direct = (directives: readonly Directive[]) => void

class Reporter {
  readonly #parts: Parts
  readonly #state: State
  readonly #direct: Direct
  readonly #trouble: TroubleLog
  #boot: Boot
  /** The report that was built last. */
  #built: BuiltReport | undefined
  /** Attempts in a row without success. */
  #attempts = 0
  #contentRefusals = 0
  #lastKind: Sent['kind'] = 'accepted'
  #reached = false
  /** The relay offered in its last answer to hold the next one for this time. */
  #offeredMs: number | undefined
  /** Events that the relay refused in its last answer. */
  #refusedEvents: ReadonlySet<string> = new Set()
  #hasLeftOut = false

  constructor(parts: Parts, state: State, direct: Direct) {
    this.#parts = parts
    this.#state = state
    this.#direct = direct
    this.#trouble = createTroubleLog(parts.log, 'relay')
    this.#boot = { id: parts.newId(), counter: 0 }
  }

  /** Whether the relay has accepted a report of this process. */
  get isKnown(): boolean {
    return this.#reached
  }

  /** How long the relay may hold the next answer. Undefined if there is news, or no offer. */
  get waitMs(): number | undefined {
    return this.#parts.spool.read().length === 0 ? this.#offeredMs : undefined
  }

  build(special: Special): string {
    this.#boot.counter += 1
    this.#built = buildFitting(this.#parts, this.#state, this.#boot, special)
    this.#noteLeftOut(this.#built)
    return this.#built.body
  }

  /** Logged once: with other items beside it, the same document may fit into the next report. */
  #noteLeftOut({ leftOut }: BuiltReport): void {
    if (leftOut === 0 || this.#hasLeftOut) return
    this.#hasLeftOut = true
    this.#parts.log.warn('document_too_large', { leftOut })
  }

  /** Returns the ms until the next report, if nothing happens before. */
  handle(sent: Sent): number {
    const again = sent.kind === this.#lastKind
    this.#lastKind = sent.kind
    this.#offeredMs = sent.kind === 'accepted' ? sent.answer.waitMs : undefined
    if (sent.kind === 'accepted') return this.#accepted(sent)
    if (sent.kind === 'retired') return this.#retired(again)
    logFailure(this.#parts.log, this.#trouble, sent)
    return sent.kind === 'refused' ? this.#refused(sent) : this.#failed(sent)
  }

  #accepted({ answer }: Sent & { kind: 'accepted' }): number {
    const { outcome, paceMs, waitMs, directives, preparations, refused } = answer
    const { log } = this.#parts
    // once, so that an owner who installs a beacon sees that it works
    if (!this.#reached) {
      log.info('relay_reached', { vm: this.#state.vm?.name, bootId: this.#boot.id, paceMs })
    }
    this.#reached = true
    log.debug('report_accepted', { outcome, counter: this.#boot.counter, paceMs, waitMs })
    this.#trouble.recovered()
    // The relay stored nothing of a repeated report, so keep its items.
    if (outcome === 'repeated') return this.#backoffMs(openBackoff)
    this.#noteRefused(refused)
    this.#attempts = 0
    this.#contentRefusals = 0
    this.#dropIncluded()
    this.#state.hooks?.answered(preparations)
    this.#direct(directives.map((one) => ({ ...one, eventId: one.eventId.toLowerCase() })))
    return this.#built?.more || this.#offeredMs !== undefined ? 0 : paceMs
  }

  /** Ignores directives, because the beacon stops. */
  handleLast(sent: Sent): void {
    if (sent.kind === 'accepted' && sent.answer.outcome === 'accepted') this.#dropIncluded()
  }

  #dropIncluded(): void {
    const through = this.#built?.included.at(-1)
    if (through !== undefined) this.#parts.spool.dropThrough(through)
  }

  /** Logs each event once, for as long as the relay refuses it. */
  #noteRefused(refused: readonly Refused[]): void {
    for (const { eventId, reason } of refused) {
      if (this.#refusedEvents.has(eventId)) continue
      this.#parts.log.warn('event_refused', { eventId, reason })
    }
    this.#refusedEvents = new Set(refused.map(({ eventId }) => eventId))
  }

  #retired(again: boolean): number {
    this.#parts.log.warn('boot_retired', {
      bootId: this.#boot.id,
      hint: 'another beacon reports for this VM, or the VM was restored from a copy',
    })
    this.#boot = { id: this.#parts.newId(), counter: 0 }
    // If two beacons report for one VM, the relay retires them in turn: wait longer each time.
    return again ? this.#backoffMs(idleBackoff) : 0
  }

  #refused({ code, reason }: Sent & { kind: 'refused' }): number {
    const oldest = this.#built?.included[0]
    if (contentCodes.includes(code) && oldest !== undefined) {
      this.#contentRefusals += 1
      if (this.#contentRefusals >= maxContentRefusals) {
        this.#contentRefusals = 0
        this.#parts.spool.dropThrough(oldest)
        this.#parts.log.error('item_given_up', { sequence: oldest, reason })
      }
    }
    return this.#backoffMs(this.#backoff())
  }

  #failed({ retryAfterMs = 0 }: Sent & { kind: 'failed' }): number {
    const backoff = this.#backoff()
    return Math.min(Math.max(retryAfterMs, this.#backoffMs(backoff)), backoff.capMs)
  }

  #backoff(): Backoff {
    // `known` has every event that is shown or hidden
    const isOpen = (this.#state.document?.known.size ?? 0) > 0
    return isOpen ? openBackoff : idleBackoff
  }

  #backoffMs(backoff: Backoff): number {
    this.#attempts += 1
    return backoffMs(this.#attempts, backoff, this.#parts.random())
  }
}

function logFailure(
  log: Log,
  trouble: TroubleLog,
  sent: Sent & { kind: 'refused' | 'failed' },
): void {
  const { kind, reason, status } = sent
  log.debug('report_failed', { kind, reason, status })
  trouble.failed(kind === 'refused' ? `refused ${status}` : kind, { kind, reason, status })
}

/** Gives up items that fit into no report. No event of Azure should cause that. */
function buildFitting(parts: Parts, state: State, boot: Boot, special: Special): BuiltReport {
  const { clock, log, spool, uptimeMs, version } = parts
  const { vm, document } = state
  if (vm === undefined) throw new Error('a report was due before the VM was identified')
  const hooks = state.hooks?.report()
  for (;;) {
    const own = { version, bootId: boot.id, counter: boot.counter }
    const beacon = { ...own, uptimeMs: uptimeMs(), clock: clock.now() }
    const pending = spool.read()
    const facts = { vm, beacon, document, pending, hooks, ...special }
    const built = buildReport({ ...facts, now: clock.monotonic() })
    if (typeof built !== 'number') return built
    log.error('item_given_up', { sequence: built, reason: 'it does not fit into a report' })
    spool.dropThrough(built)
  }
}
