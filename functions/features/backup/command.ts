import type { Entry } from '../../cli/program.ts'

export const backupCommand: Record<string, Entry> = {
  backup: ['stores a copy of the database', async () => (await import('./cli.ts')).backupFile],
}
