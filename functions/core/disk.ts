/** A disk is nearly full if less than the smaller of these two is free. */
const nearlyFull = { share: 0.1, bytes: 2_000_000_000 }
/** The disk has space again once this many times that limit is free. */
const spaceAgain = 1.2

export interface Disk {
  freeBytes: number
  totalBytes: number
}

export function isNearlyFull({ freeBytes, totalBytes }: Disk, wasOn: boolean): boolean {
  const limit = Math.min(nearlyFull.share * totalBytes, nearlyFull.bytes)
  return freeBytes < limit * (wasOn ? spaceAgain : 1)
}

export function describeDisk({ freeBytes, totalBytes }: Disk): string {
  return `${describeSize(freeBytes)} of ${describeSize(totalBytes)} are free`
}

function describeSize(bytes: number): string {
  const mb = bytes / 1_000_000
  return mb < 1_000 ? `${Math.floor(mb)} MB` : `${(mb / 1_000).toFixed(1)} GB`
}
