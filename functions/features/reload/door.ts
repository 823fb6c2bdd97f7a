import type { ConfigTaken } from '../../host/node/door.ts'

declare module '../../use-cases/relay.ts' {
  interface Doors {
    /** Reads the configuration again. */
    readConfigAgain?(): Promise<ConfigTaken>
  }
}
