// Reads the part of a request's body that a handler left unread. The Functions host and proxies
// share connections between clients, and an unread rest breaks the next request on that connection.

/**
 * Beyond these limits the connection is closed, so that one client cannot keep the relay reading.
 */
const restLimits = { bytes: 8 * 1024 * 1024, ms: 5_000 }

export interface WatchedBody {
  /** For the handler, which may stop reading at any point. */
  body: ReadableStream<Uint8Array<ArrayBuffer>>
  /** Whether the body has been read to its end. */
  ended(): boolean
  /** Reads and drops the rest. Never rejects. The handler must not read after this call. */
  finish(): Promise<void>
}

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
export function finishing(body: Response['body'], sent?: WatchedBody): Response['body'] {
  if (sent === undefined || sent.ended()) return body
  const finish = () => void sent.finish()
  if (body !== null) return body.pipeThrough(new TransformStream({ flush: finish, cancel: finish }))
  finish()
  return null
}
