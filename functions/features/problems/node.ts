import type { NodeAbility } from '../../host/node/ability.ts'
import './ability.ts'

export const diskOnNode: NodeAbility = ({ file }) => (file === undefined ? {} : { disk: file.disk })
