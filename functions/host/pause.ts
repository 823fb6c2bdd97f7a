// Lets others go first on Node: a request on a new connection takes some steps of the event loop, from its
// handshake to its answer. With a timer that is always due, the loop would come to its sockets too rarely.

/** Connect, read, decide, and the two of a write. */
const steps = 5

export async function pause(): Promise<void> {
  for (let i = 0; i < steps; i++) await new Promise((resolve) => setImmediate(resolve))
}
