import type { Entry } from '../../cli/program.ts'

export const listenCommand: Record<string, Entry> = {
  listen: [
    'prints every step of every event as it happens',
    async () => (await import('./cli.ts')).listenToEvents,
  ],
}
