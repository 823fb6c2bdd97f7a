// What features do on plain Node alone.
import type { NodeDoor } from '../host/node/door.ts'
import { backupOnNode } from './backup/node.ts'
import { diskOnNode } from './problems/node.ts'
import { reloadOnNode } from './reload/node.ts'

export const nodeDoors: readonly NodeDoor[] = [backupOnNode, diskOnNode, reloadOnNode]
