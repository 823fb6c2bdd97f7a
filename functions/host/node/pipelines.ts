// How many requests of one connection are answered at a time. Node takes all of them at once, however many come in
// one piece, before any other connection gets a turn. Clients and proxies send one after the other.
import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

const maxUnanswered = 8

/** Ends a connection that sends more. */
export function fewAtOnce(listener: RequestListener): RequestListener {
  const unanswered = new WeakMap<Socket, number>()
  return (request, response) => {
    const { socket } = request
    // what was read before the end comes all the same
    if (socket.destroyed) return
    const count = (unanswered.get(socket) ?? 0) + 1
    if (count > maxUnanswered) {
      socket.destroy()
      return
    }
    unanswered.set(socket, count)
    response.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1))
    listener(request, response)
  }
}
