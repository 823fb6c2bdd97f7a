// Commands of features, for owners of a relay.
import type { Entry } from '../cli/program.ts'
import { backupCommand } from './backup/command.ts'
import { muteCommand } from './mutes/command.ts'
import { reloadCommand } from './reload/command.ts'
import { listenCommand } from './stream/command.ts'

export const commands: Record<string, Entry> = {
  ...muteCommand,
  ...listenCommand,
  ...reloadCommand,
  ...backupCommand,
}
