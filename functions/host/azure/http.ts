// Connects Azure Functions to a fetch handler, with bodies as streams. Needs `app.setup({
// enableHttpStream: true })`. With it, an invocation that throws is never answered (azure-
// functions-nodejs-library issue 324), so no error may leave this file.
import { type HttpHandler, type HttpRequest, HttpResponse } from '@azure/functions'
import { messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { problemHeaders, problemText, refusalFor } from '../../http/problem.ts'
import { isSecure, secureHeaders } from '../../pages/layout.ts'

/** The request's signal never fires: the library does not notice that a client went away. */
export function httpHandler(
  fetch: (request: Request) => Response | Promise<Response>,
  log: Log,
): HttpHandler {
  return async (request) => {
    const sent = request.body === null ? undefined : watchBody(request.body)
    // answers that do not come from the app need this header, too
    const secure = isSecure(request.url) ? secureHeaders : {}
    try {
      return toAnswer(await fetch(toRequest(request, sent)), secure, sent)
    } catch (error) {
      void sent?.finish()
      log.error('request_failed', { method: request.method, error: messageOf(error) })
      const refusal = refusalFor(error)
      const headers = problemHeaders(refusal.status, isSecure(request.url))
      return { status: refusal.status, headers, body: problemText(refusal) }
    }
  }
}

/** The URL is the one that the client used: the host takes it from x-forwarded-host and -proto. */
function toRequest({ url, method, headers }: HttpRequest, sent?: WatchedBody): Request {
  return new Request(url, { method, headers, body: sent?.body ?? null, duplex: 'half' })
}

function toAnswer(
  response: Response,
  more: Record<string, string>,
  sent?: WatchedBody,
): HttpResponse {
  const { status, body } = response
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(more)) headers.set(name, value)
  const answer = new HttpResponse({ status, headers, body: finishing(body, sent) })
  const cookies = headers.getSetCookie()
  if (cookies.length > 1) {
    // The library calls Node's setHeader for each entry, so only the last Set-Cookie would remain.
    // setHeader accepts a list. The library's own `cookies` re-encodes values and drops attributes.
    const others = [...headers].filter(([name]) => name !== 'set-cookie')
    const entries = [...others, ['set-cookie', cookies]]
    Object.assign(answer.headers, { entries: () => entries.values() })
  }
  return answer
}

/**
 * Beyond these limits the connection is closed, so that one client cannot keep the relay reading.
 */
const restLimits = { bytes: 8 * 1024 * 1024, ms: 5_000 }

interface WatchedBody {
  /** The body for the handler, which may stop reading at any point. */
  body: ReadableStream<Uint8Array<ArrayBuffer>>
  /** Whether the body has been read to its end. */
  ended(): boolean
  /** Reads and drops the rest. Never rejects. The handler must not read after this call. */
  finish(): Promise<void>
}

/**
 * Reads the part of a request's body that a handler left unread. The Functions host and proxies share
 * connections between clients, and an unread rest breaks the next request on that connection.
 */
export function watchBody(source: ReadableStream, limits = restLimits): WatchedBody {
  const reader = source.getReader()
  let over = false
  const read = async () => {
    try {
      const piece = await reader.read()
      over = piece.done
      return piece
    } catch (error) {
      over = true
      throw error
    }
  }
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const { done, value } = await read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      // no `cancel`: it would close the connection, so `finish` reads the rest instead
    },
    { highWaterMark: 0 },
  )
  const finish = async () => {
    const close = () => reader.cancel().catch(() => {})
    const timer = setTimeout(close, limits.ms).unref()
    try {
      for (let bytes = 0; !over; ) {
        bytes += (await read()).value?.byteLength ?? 0
        if (bytes > limits.bytes) await close()
      }
    } catch {
      // the client closed the connection
    }
    clearTimeout(timer)
  }
  return { body, ended: () => over, finish }
}

/**
 * Reads the rest of the request after the end of the answer, which may contain the request's body.
 */
function finishing(body: Response['body'], sent?: WatchedBody): Response['body'] {
  if (sent === undefined || sent.ended()) return body
  const finish = () => void sent.finish()
  if (body !== null) return body.pipeThrough(new TransformStream({ flush: finish, cancel: finish }))
  finish()
  return null
}
