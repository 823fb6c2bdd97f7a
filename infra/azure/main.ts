// What the Functions host loads. `npm run bundle` bundles it into dist/azure.
import { register } from '../../functions/host/azure/main.ts'

const write = (line: string) => void process.stdout.write(`${line}\n`)
// the configuration is deployed beside this file, wherever the host was started
register(process.env, write, import.meta.dirname)
