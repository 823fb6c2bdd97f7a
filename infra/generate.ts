// `npm run generate [-- --check]`: writes the generated files.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { command, exitCodes, flag } from '../functions/cli/command.ts'
import { bicepHere, listTemplates, noCompiler } from './bicep.ts'
import { generated, outdated, root } from './generated.ts'
import { helmHere, manifestFile, manifests, noHelm, renderManifest } from './helm.ts'

export const generate = command({
  usage: '[--check]',
  about: `
Writes the generated files that are out of date. With --check it writes nothing, and exits with
code 1 if there is one. The templates of Azure need the Bicep compiler (FOGHORN_BICEP is its path),
and the manifests for Kubernetes need Helm (FOGHORN_HELM). Without these, they stay as they are.`,
  options: { check: flag },
  run({ options: { check = false }, io }) {
    const paths = outdated()
    const templates = [...outdatedTemplates(io.note), ...outdatedManifests(io.note)]
    if (check) {
      const all = [...paths, ...templates.map(({ path }) => path)]
      for (const path of all) io.note(`${path} is out of date: run npm run generate`)
      return all.length > 0 ? exitCodes.broken : exitCodes.fine
    }
    const own = generated()
      .filter((one) => paths.includes(one.path))
      .map(({ path, content }) => ({ path, content: content() }))
    for (const { path, content } of [...own, ...templates]) {
      writeFileSync(join(root, path), content)
      io.print(path)
    }
    return exitCodes.fine
  },
})

function outdatedTemplates(note: (text: string) => void) {
  const compiler = bicepHere()
  if (compiler === undefined) {
    note(`infra/azure/*.json were not compiled: ${noCompiler}`)
    return []
  }
  return changed(listTemplates(compiler))
}

function outdatedManifests(note: (text: string) => void) {
  const helm = helmHere()
  if (helm === undefined) {
    note(`infra/kubernetes/*.yaml were not made: ${noHelm}`)
    return []
  }
  const names = Object.keys(manifests)
  return changed(
    names.map((name) => ({ file: manifestFile(name), content: renderManifest(helm, name) })),
  )
}

function changed(files: { file: string; content: string }[]) {
  return files
    .filter(({ file, content }) => !existsSync(file) || readFileSync(file, 'utf8') !== content)
    .map(({ file, content }) => ({ path: relative(root, file), content }))
}
