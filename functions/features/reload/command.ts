import type { Entry } from '../../cli/program.ts'

export const reloadCommand: Record<string, Entry> = {
  reload: [
    'a running relay on Node reads its configuration again',
    async () => (await import('./cli.ts')).reloadByCommand,
  ],
}
