// What only a relay on Node can do: its database is one file.
declare module '../../use-cases/relay.ts' {
  interface Abilities {
    /** Copies all that is stored, while the relay works. Throws FoghornError `disk_full`. */
    copyDatabase?(): Promise<DatabaseCopy>
  }
}

export type DatabaseCopy =
  | { outcome: 'made'; bytes: number; body: ReadableStream<Uint8Array> }
  /** Another one is being made or read. */
  | { outcome: 'busy' }
