// A relay that commands of a terminal reach, started anew for each test.
import { serve } from '@hono/node-server'
import { afterEach, beforeEach } from 'vitest'
import type { Command, Io } from '../../functions/cli/command.ts'
import { playCommand } from './command.ts'
import { startRelay, world } from './relay.ts'
import { adminKey } from './world.ts'

/** Plays a command with the admin key. */
export function servedForEach() {
  let server: ReturnType<typeof serve>
  let port: number

  beforeEach(async () => {
    await startRelay()
    await new Promise<void>((resolve) => {
      server = serve({ fetch: world.app.fetch, port: 0, hostname: '127.0.0.1' }, (address) => {
        port = address.port
        resolve()
      })
    })
  })
  afterEach(() => {
    server.close()
    world.store.close()
  })

  return (name: string, command: Command, words: string[] = [], ask?: Io['ask']) => {
    const environment = { FOGHORN_URL: `http://127.0.0.1:${port}`, FOGHORN_ADMIN_KEY: adminKey }
    return playCommand(name, command, words, environment, ask && { ask })
  }
}
