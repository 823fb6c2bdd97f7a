import type { Entry } from '../../cli/program.ts'

export const muteCommand: Record<string, Entry> = {
  mute: [
    'mutes events of a fleet for some time, or lists the mutes',
    async () => (await import('./cli.ts')).mute,
  ],
}
