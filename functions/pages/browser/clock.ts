// The relay's clock. The clock of the reader's machine may be wrong, so the page starts from the time that
// the relay gave and counts on from there.

let startedAt = 0

export function setRelayTime(now: number): void {
  startedAt = now - performance.now()
}

/** Epoch ms. */
export function relayNow(): number {
  return startedAt + performance.now()
}
