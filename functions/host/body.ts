// Reads what a handler left of a request's body. The Functions host shares its connections to this process
// between clients, and so does a proxy: a rest that stays on one of them breaks the next request there.

/** Beyond these the connection is closed instead, so that one client can't keep the relay reading. */
export const restLimits = { bytes: 8 * 1024 * 1024, ms: 5_000 }

export interface WatchedBody {
  /** For the handler. It may stop reading at any point. */
  body: ReadableStream<Uint8Array<ArrayBuffer>>
  /** Whether nothing is left. */
  ended(): boolean
  /** Reads the rest and drops it. Never rejects. The handler must not read any more. */
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
      // a handler that cancels leaves the rest to `finish`: cancelling the source closes the connection
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
      // the client went away, and its connection with it
    }
    clearTimeout(timer)
  }
  return { body, ended: () => over, finish }
}

/** Once the answer is read to its end, so is the request: until then its body may be part of the answer. */
export function finishing(body: Response['body'], sent?: WatchedBody): Response['body'] {
  if (sent === undefined || sent.ended()) return body
  const finish = () => void sent.finish()
  if (body !== null) return body.pipeThrough(new TransformStream({ flush: finish, cancel: finish }))
  finish()
  return null
}
