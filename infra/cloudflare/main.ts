// The Worker's main module. `npm run bundle` bundles it into dist/cloudflare, beside the
// configuration.

import { createWorker } from '../../functions/host/cloudflare/worker.ts'
import configText from './foghorn.config.json'

// biome-ignore lint/suspicious/noConsole: a Worker has no other output
const write = (line: string) => console.log(line)
const { RelayObject, handlers } = createWorker(configText, write)

export { RelayObject }
export default handlers
