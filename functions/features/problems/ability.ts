import type { Disk } from '../../core/disk.ts'

declare module '../../use-cases/relay.ts' {
  interface Abilities {
    /** The disk that holds the data. Absent if the host has none. */
    disk?(): Promise<Disk>
  }
}
