// A reload on plain Node: by the API, or by the signal SIGHUP.
import type { NodeDoor } from '../../host/node/door.ts'
import './door.ts'

export const reloadOnNode: NodeDoor = ({ takeConfig }) => {
  process.on('SIGHUP', () => void takeConfig())
  return { readConfigAgain: takeConfig }
}
