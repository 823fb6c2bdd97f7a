// Changes rows that several callers change at once. Edits of one row that come while it is being
// written wait, and are then made together, in one write. After a conflict they are made again.
import { FoghornError } from '../../shared/errors.ts'
import { insertOrReplace, type Row, type Rows } from './rows.ts'

/**
 * An edit that is in no hurry waits this long for others of its row. If the process dies meanwhile, the
 * result of a delivery is lost, and the message is sent again.
 */
const gatherMs = 100
/** Attempts of one write, each after another worker was faster. */
const maxAttempts = 20

/** A row, and its version that was read or written last. Callers may share it. */
export interface HeldRow {
  /** How many of its deliveries this worker sends now. */
  underWay?: number
  partition: string
  row: string
  held?: Row | undefined
}

export type Content = Pick<Row, 'body' | 'keys'>

/** What an edit makes of the row. Without `next`, the row stays as it is. */
export interface Made<Result> {
  result: Result
  next?: Content
}

type Make<Result> = (row: Content | undefined) => Made<Result>

/** Waits until what it registers is called. The simulation replaces this. */
export type Wait = (register: (resume: () => void) => void) => Promise<void>

const inProcess: Wait = (register) => new Promise((resolve) => register(resolve))

/** Waits this long. Without it, edits join that come at the same moment. */
export type Gather = (ms: number) => Promise<void>

interface Edit {
  heldRow: HeldRow
  make: Make<unknown>
  ended?: { result: unknown } | { error: unknown }
  /** Called at the end, if another edit makes this one. */
  resume?: () => void
}

export class Edits {
  readonly #rows: Rows
  readonly #stepAside: () => Promise<void>
  readonly #wait: Wait
  readonly #gather: Gather | undefined
  /** Edits that wait, by row. A row has an entry while it is being edited. */
  readonly #queues = new Map<string, Edit[]>()
  /** Functions that end the wait for more edits, by row. */
  readonly #hurry = new Map<string, () => void>()

  constructor(rows: Rows, stepAside: () => Promise<void>, wait: Wait = inProcess, gather?: Gather) {
    this.#rows = rows
    this.#stepAside = stepAside
    this.#wait = wait
    this.#gather = gather
  }

  /**
   * `make` may be called again after a conflict, so it must change nothing. `hurry`: false for an edit
   * that may wait for others of its row.
   */
  async edit<Result>(heldRow: HeldRow, make: Make<Result>, { hurry = true } = {}): Promise<Result> {
    const name = `${heldRow.partition} ${heldRow.row}`
    const edit: Edit = { heldRow, make }
    const queue = this.#queues.get(name)
    if (queue === undefined) {
      const own = [edit]
      this.#queues.set(name, own)
      await (hurry ? null : this.#gathered(name))
      await this.#work(name, own)
    } else {
      queue.push(edit)
      if (hurry) this.#hurry.get(name)?.()
      await this.#wait((resume) => {
        edit.resume = resume
      })
    }
    if ('error' in edit.ended!) throw edit.ended.error
    return edit.ended!.result as Result
  }

  /** Waits until some time has passed, or an edit comes that is in a hurry. */
  async #gathered(name: string): Promise<void> {
    const hurried = new Promise<void>((resolve) => {
      this.#hurry.set(name, resolve)
    })
    // whatever ends the wait, the edits are made
    await Promise.race([hurried, this.#gather?.(gatherMs)]).catch(() => {})
    this.#hurry.delete(name)
  }

  async #work(name: string, queue: Edit[]): Promise<void> {
    let conflicts = 0
    while (queue.length > 0) {
      const batch = queue.splice(0)
      try {
        const isWritten = await this.#write(batch)
        conflicts = isWritten ? 0 : conflicts + 1
        if (conflicts >= maxAttempts) throw busy(batch[0]!.heldRow)
        if (isWritten) continue
        await this.#stepAside()
        queue.unshift(...batch)
      } catch (error) {
        for (const one of batch) end(one, { error })
      }
    }
    // no await since the queue was empty, or an edit of the meantime would wait for ever
    this.#queues.delete(name)
  }

  /** False: another worker was faster. */
  async #write(batch: Edit[]): Promise<boolean> {
    const [{ heldRow }] = batch as [Edit]
    const { partition, row: name } = heldRow
    const before = heldRow.held ?? (await this.#rows.read(partition, name))
    let now: Content | undefined = before
    const results: unknown[] = []
    for (const { make } of batch) {
      const made = make(now)
      results.push(made.result)
      now = made.next ?? now
    }
    let after = before
    if (now === before && heldRow.held !== undefined) {
      // only a write would show that another worker has changed the row since
      for (const one of batch) one.heldRow.held = undefined
      return this.#write(batch)
    }
    if (now !== undefined && now !== before) {
      const own = insertOrReplace(before, name, now.body, now.keys)
      const written = await this.#rows.change(partition, [own])
      if (written === 'conflict') {
        for (const one of batch) one.heldRow.held = undefined
        return false
      }
      after = written[0]
    }
    for (const [i, one] of batch.entries()) {
      one.heldRow.held = after
      end(one, { result: results[i] })
    }
    return true
  }
}

function end(edit: Edit, ended: NonNullable<Edit['ended']>): void {
  edit.ended = ended
  edit.resume?.()
}

function busy({ partition, row }: HeldRow): FoghornError {
  const what = `too many workers write row "${row}" of "${partition}" at once`
  return new FoghornError('storage_busy', `${what}; it is tried again`)
}
