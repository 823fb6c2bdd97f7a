// The Worker that the tests in workerd run in: the real one, with a configuration of its own.
import { createWorker } from '../../functions/host/cloudflare/worker.ts'
import { baseConfig } from '../support/fake-beacon.ts'
import { lines } from './lines.ts'

const { RelayObject, handlers } = createWorker(JSON.stringify(baseConfig), (line) => {
  lines.push(line)
})

export { RelayObject }
export default handlers
