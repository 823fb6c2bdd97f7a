// The commands for owners of a relay. They are also in a release, which has no npm.
import { command } from '../functions/cli/command.ts'
import type { Entry } from '../functions/cli/program.ts'
import { commands as featureCommands } from '../functions/features/commands.ts'

/** Starts a program that a signal ends, and that takes its settings from the environment. */
export const untilStopped = (about: string, load: () => Promise<unknown>) =>
  command({
    usage: '',
    about,
    run: load,
  })

export const ownerCommands: Record<string, Entry> = {
  start: [
    'runs the relay on this machine',
    async () =>
      untilStopped(
        `
Runs the relay with an embedded SQLite, or on PostgreSQL, until it is stopped.
docs/install-relay-node.md and docs/install-relay-postgres.md show how.

Environment: FOGHORN_CONFIG (foghorn.config.json) is the configuration, FOGHORN_DATA (.foghorn) the
folder of the database, or FOGHORN_DATABASE the address of PostgreSQL, PORT (7071) and HOST
(127.0.0.1) where it listens. FOGHORN_LINK_KEY signs links. FOGHORN_ADMIN_KEY opens the API and the
console. FOGHORN_LOG_LEVEL is info.`,
        async () => (await import('../functions/host/node/main.ts')).run(),
      ),
  ],
  'check-config': [
    'finds mistakes in a configuration, and dry-runs an event',
    async () => (await import('../functions/cli/check-config.ts')).checkConfig,
  ],
  azure: [
    'shows what Azure publishes outside the VMs',
    async () => (await import('../functions/cli/azure.ts')).azure,
  ],
  events: [
    'lists the open events',
    async () => (await import('../functions/cli/events.ts')).events,
  ],
  approve: [
    'approves an event: Azure starts it now',
    async () => (await import('../functions/cli/events.ts')).approve,
  ],
  leave: [
    'leaves an event to Azure',
    async () => (await import('../functions/cli/events.ts')).leave,
  ],
  drill: [
    'sends a test event through the real channels',
    async () => (await import('../functions/cli/drill.ts')).drill,
  ],
  ...featureCommands,
  restore: [
    'puts a backup in the place of the database',
    async () => (await import('../functions/cli/restore.ts')).restore,
  ],
  copy: [
    'moves what a relay has stored to PostgreSQL, or back',
    async () => (await import('../functions/cli/copy.ts')).copy,
  ],
  export: [
    'stores all events as JSON lines',
    async () => (await import('../functions/cli/export.ts')).exportEvents,
  ],
}
