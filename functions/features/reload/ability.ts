import type { ConfigRead } from '../../host/node/ability.ts'

declare module '../../use-cases/relay.ts' {
  interface Abilities {
    /** Reads the configuration again. */
    readConfigAgain?(): Promise<ConfigRead>
  }
}
