import type { NodeDoor } from '../../host/node/door.ts'
import './door.ts'

export const diskOnNode: NodeDoor = ({ file }) => (file === undefined ? {} : { disk: file.disk })
