// `npm run generate [-- --check]`: writes the generated files. With --check it writes nothing, and
// exits with code 1 if one is out of date.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generated, outdated, root } from './generated.ts'

const words = process.argv.slice(2)
const paths = outdated()
if (words.some((word) => word !== '--check')) {
  process.stderr.write('npm run generate [-- --check]\n')
  process.exitCode = 2
} else if (words.length > 0) {
  for (const path of paths) process.stderr.write(`${path} is out of date: run npm run generate\n`)
  if (paths.length > 0) process.exitCode = 1
} else {
  for (const { path, content } of generated().filter((one) => paths.includes(one.path))) {
    writeFileSync(join(root, path), content())
    process.stdout.write(`${path}\n`)
  }
}
