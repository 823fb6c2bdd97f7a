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

/** `12:15:30 UTC` */
export function clockText(at: number): string {
  return `${new Date(at).toISOString().slice(11, 19)} UTC`
}

/** `59 s`, `89 min 59 s`, `2 h 0 min`, `3 d 4 h`. Shows a second unit of 0, too. */
export function countdown(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 5400) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return `${hours} h ${minutes % 60} min`
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}
