// `npm run generate [-- --check]`: writes the generated files.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { command, exitCodes, flag } from '../functions/cli/command.ts'
import { generated, outdated, root } from './generated.ts'

export const generate = command({
  usage: '[--check]',
  about: `
Writes the generated files that are out of date. With --check it writes nothing, and exits with
code 1 if there is one.`,
  options: { check: flag },
  run({ options: { check = false }, io }) {
    const paths = outdated()
    if (check) {
      for (const path of paths) io.note(`${path} is out of date: run npm run generate`)
      return paths.length > 0 ? exitCodes.broken : exitCodes.fine
    }
    for (const { path, content } of generated().filter((one) => paths.includes(one.path))) {
      writeFileSync(join(root, path), content())
      io.print(path)
    }
    return exitCodes.fine
  },
})
