// Reads the body of each request whole before anything else happens, by the events of Node's server:
// through web streams, a stranger's body in pieces of one byte would take seconds of the process.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { maxReportBytes } from '../../../shared/report.ts'
import { azureEventsPath, maxBatchBytes } from '../../http/api/azure.ts'
import type { Refusal } from '../../http/problem.ts'
import { createTurns } from './large-bodies.ts'

const mebibyte = 1024 * 1024

const usualLimits = {
  /** The length of one body. */
  bytes: maxReportBytes,
  /** The length of one body, for the routes that take a longer one. */
  longer: { [azureEventsPath]: maxBatchBytes } as Record<string, number>,
  /** Parts of a body that may be small. Clients send some KB at a time. */
  pieces: 1_024,
  /** The least length of a part after those, on average. */
  pieceBytes: 64,
  /**
   * What follows in a longer body. The relay reads and drops it, because on a proxy's shared connection
   * it would break the next request. Beyond this, the relay closes the connection.
   */
  rest: { bytes: 8 * mebibyte, ms: 5_000 },
  /** Bytes of all unfinished bodies. If there are more, the relay gives up the body that began first. */
  unfinishedBytes: 64 * mebibyte,
}

interface Bodies {
  /** `body`: undefined if there is none. One that is too long is cut, but to more than is allowed. */
  take(request: IncomingMessage, response: ServerResponse, body: Buffer | undefined): void
  /** Sends this answer. After it, the connection is closed. */
  refuse(response: ServerResponse, refusal: Refusal): void
  noteBrokenOff(method: string, cause: unknown): void
}

const tooManyPieces: Refusal = {
  status: 413,
  code: 'body_too_large',
  detail: `the body arrives in more than ${usualLimits.pieces} small pieces; send larger ones`,
}
const tooSlow: Refusal = {
  status: 503,
  code: 'busy',
  detail: 'too many bodies have not ended, and this one took longest; send it again',
}

export function bodiesFirst(
  { take, refuse, noteBrokenOff }: Bodies,
  limits = usualLimits,
): RequestListener {
  /** The unfinished bodies, in the order of their begin. */
  const unfinished = new Set<UnfinishedBody>()
  let unfinishedBytes = 0
  const forget = (body: UnfinishedBody) => {
    if (unfinished.delete(body)) unfinishedBytes -= body.bytes
    body.parts = []
  }
  const add = (body: UnfinishedBody, part: Buffer) => {
    body.parts.push(part)
    body.bytes += part.length
    unfinishedBytes += part.length
    for (const first of unfinished) {
      if (unfinishedBytes <= limits.unfinishedBytes) break
      first.giveUp(tooSlow)
    }
  }

  const inTurn = createTurns()

  return (request, response) => {
    const { method = '', headers } = request
    const length = Number(headers['content-length'] ?? 0)
    const isChunked = headers['transfer-encoding'] !== undefined
    const most = limits.longer[request.url ?? ''] ?? limits.bytes
    // a route refuses a longer body by its length, and reads nothing of it
    if (!isChunked && !(length > 0 && length <= most)) {
      return take(request, response, undefined)
    }
    /** Handed over, given up or broken off. */
    let isOver = false
    let isWhole = false
    let pieces = 0
    let received = 0
    let restBytes = 0
    let timer: NodeJS.Timeout | undefined
    const hand = () => {
      const whole = body.parts.length === 1 ? body.parts[0]! : Buffer.concat(body.parts)
      isOver = true
      forget(body)
      take(request, response, whole)
    }
    const body: UnfinishedBody = {
      parts: [],
      bytes: 0,
      giveUp(refusal) {
        isOver = true
        forget(body)
        noteBrokenOff(method, new Error(refusal.detail))
        response.once('finish', () => request.destroy())
        refuse(response, refusal)
      },
    }
    const onPart = (part: Buffer) => {
      add(body, part)
      if (isOver || body.bytes <= most) return
      timer = setTimeout(() => request.destroy(), limits.rest.ms).unref()
      hand()
    }
    const onRest = (part: Buffer) => {
      restBytes += part.length
      if (restBytes > limits.rest.bytes) request.destroy()
    }
    unfinished.add(body)
    request.on('data', (part: Buffer) => {
      pieces += 1
      received += part.length
      const isTorn = pieces > limits.pieces && received < pieces * limits.pieceBytes
      if (isTorn && isOver) request.destroy()
      else if (isTorn) body.giveUp(tooManyPieces)
      else if (isOver) onRest(part)
      else onPart(part)
    })
    request.on('end', () => {
      isWhole = true
      // until its turn, it counts as unfinished
      inTurn(body.bytes, () => {
        if (isOver || response.destroyed) forget(body)
        else hand()
      })
    })
    request.on('error', (cause) => {
      if (!isOver) noteBrokenOff(method, cause)
      isOver = true
    })
    request.on('close', () => {
      if (!isWhole) forget(body)
      clearTimeout(timer)
    })
  }
}

interface UnfinishedBody {
  parts: Buffer[]
  bytes: number
  giveUp(refusal: Refusal): void
}
