// The Functions host loads this. `npm run bundle` bundles it into dist/azure.
import { register } from '../../functions/host/azure/main.ts'

const write = (line: string) => void process.stdout.write(`${line}\n`)
// the configuration is deployed beside this file, which need not be the working directory
register(process.env, write, import.meta.dirname)
