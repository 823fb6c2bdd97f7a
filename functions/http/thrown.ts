// What answers a request whose handler threw.
import type { ErrorHandler } from 'hono'
import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { FrequentLog } from '../use-cases/frequent-log.ts'
import { failed } from './page.ts'
import { BodyBrokenOff, problem } from './problem.ts'

export type NoteBrokenOff = (method: string, cause: unknown) => void

/** Anybody can break off requests, so the log counts them. */
export function createNoteBrokenOff(refusals: FrequentLog): NoteBrokenOff {
  return (method, cause) => {
    const fields = { method, error: messageOf(cause) }
    refusals.note('requests_broken_off', fields, '', 'info')
  }
}

export function answerThrown(log: Log, noteBrokenOff: NoteBrokenOff): ErrorHandler {
  return (error, c) => {
    if (error instanceof BodyBrokenOff) {
      noteBrokenOff(c.req.method, error.cause)
      return problem(c, 400, 'body_broken_off', 'the body is incomplete; send the request again')
    }
    log.error('request_failed', { method: c.req.method, error: messageOf(error) })
    return failed(c, error)
  }
}
