// Bounds what the process keeps of answers that nobody reads. A list may have 2 MB, and anybody with a token may ask
// for hundreds and read none.
import type { RequestListener, ServerResponse } from 'node:http'

const usualLimits = {
  /** Unread bytes of all answers together. */
  bytes: 64 * 1024 * 1024,
  lookMs: 250,
}

/** Ends the connections with the most unread, until half of what is allowed is left. */
export function boundUnread(listener: RequestListener, limits = usualLimits): RequestListener {
  const open = new Set<ServerResponse>()
  let timer: NodeJS.Timeout | undefined
  const look = () => {
    let bytes = unreadIn(open)
    if (bytes > limits.bytes) {
      const most = [...open].sort((a, b) => b.writableLength - a.writableLength)
      for (const one of most) {
        if (bytes <= limits.bytes / 2) break
        bytes -= one.writableLength
        one.req.socket.destroy()
      }
    }
    if (open.size === 0) {
      clearInterval(timer)
      timer = undefined
    }
  }
  return (request, response) => {
    open.add(response)
    response.once('close', () => open.delete(response))
    timer ??= setInterval(look, limits.lookMs).unref()
    listener(request, response)
  }
}

function unreadIn(open: Set<ServerResponse>): number {
  let bytes = 0
  for (const { writableLength } of open) bytes += writableLength
  return bytes
}
