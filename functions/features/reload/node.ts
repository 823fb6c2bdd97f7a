// A reload on plain Node: by the API, or by the signal SIGHUP.
import type { NodeAbility } from '../../host/node/ability.ts'
import './ability.ts'

export const reloadOnNode: NodeAbility = ({ rereadConfig }) => {
  process.on('SIGHUP', () => void rereadConfig())
  return { readConfigAgain: rereadConfig }
}
