// Loaded before every command. Plain JavaScript, because an old Node cannot read our TypeScript
// files.
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const required = [24, 12]
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < required[0] || (major === required[0] && minor < required[1])) {
  process.stderr.write(
    `Foghorn needs Node ${required.join('.')} or newer, this is ${process.version}. ` +
      'Start it by "npm run", which takes the Node that "npm ci" installs on Linux and Windows, unless it ' +
      'leaves out optional packages.\n',
  )
  process.exit(1)
}

// Node keeps the compiled code. So from the second start on, it needs no compiler of TypeScript, which
// takes 26 MB.
module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/foghorn', import.meta.url)))
