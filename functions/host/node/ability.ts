// What features that need plain Node get from the host.
import type { Disk } from '../../core/disk.ts'
import type { Abilities } from '../../use-cases/relay.ts'

export interface NodeHost {
  /** Absent if the database is not a file of this machine. */
  file?: DatabaseFolder
  /** Reads the configuration again. The relay that has it takes the place of this one. */
  rereadConfig(): Promise<ConfigRead>
}

export interface DatabaseFolder {
  /** The folder of the database. */
  folder: string
  /** Writes a copy of the database into this file, which exists and is empty. */
  copyTo(path: string): Promise<void>
  /** The disk that holds the folder. */
  disk(): Promise<Disk>
}

/** `refused`: one sentence for each mistake; the relay goes on as it is. */
export type ConfigRead = { outcome: 'accepted' } | { outcome: 'refused'; mistakes: string }

export type NodeAbility = (host: NodeHost) => Abilities
