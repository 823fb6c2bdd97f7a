// What the Functions host loads. `npm run bundle` makes one file of it, in dist/azure.
import { register } from '../../functions/host/azure.ts'

register(process.env, (line) => void process.stdout.write(`${line}\n`))
