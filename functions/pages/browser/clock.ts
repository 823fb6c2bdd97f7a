// The relay's time. The clock of the reader's machine may be wrong, so the page starts at the time
// that the relay sent and counts on from there.

let startedAt = 0

export function setRelayTime(now: number): void {
  startedAt = now - performance.now()
}

/** Epoch ms. */
export function relayNow(): number {
  return startedAt + performance.now()
}
