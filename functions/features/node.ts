// What features do on plain Node alone.
import type { NodeAbility } from '../host/node/ability.ts'
import { backupOnNode } from './backup/node.ts'
import { diskOnNode } from './problems/node.ts'
import { reloadOnNode } from './reload/node.ts'

export const nodeAbilities: readonly NodeAbility[] = [backupOnNode, diskOnNode, reloadOnNode]
