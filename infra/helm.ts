// Helm, which is not an npm package. It is looked for in FOGHORN_HELM and on the PATH. Only those who
// change the chart need it: the manifests that it makes are in the repository, for owners without Helm.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { has } from './vm/package/tools.ts'

const folder = join(import.meta.dirname, 'kubernetes')
export const chart = join(folder, 'foghorn')
export const noHelm = 'Helm is not here: set FOGHORN_HELM to its path'

/** The manifests in the repository, by name, and the values that make each. */
export const manifests: Record<string, string[]> = {
  beacon: [],
  relay: ['--set', 'relay.enabled=true', '--show-only', 'templates/relay.yaml'],
}
const note =
  '# Made from the chart by "npm run generate". Replace the address, the fleet, the images and the configuration.'
/** Each owner writes another one. */
const usual = ['--namespace', 'foghorn', '--set', 'relayUrl=https://foghorn.example.com,fleet=prod']

export function helmHere(): string | undefined {
  return process.env.FOGHORN_HELM ?? (has('helm') ? 'helm' : undefined)
}

export function runHelm(helm: string, words: string[]) {
  return spawnSync(helm, words, { encoding: 'utf8' })
}

/** The manifest as YAML. Throws what Helm says. */
export function renderManifest(helm: string, name: string): string {
  const words = ['template', 'foghorn', chart, ...usual, ...manifests[name]!]
  const { status, stdout, stderr } = runHelm(helm, words)
  if (status !== 0) throw new Error(`the chart makes no manifest: ${stderr}`)
  return `${note}\n${stdout}`
}

export function manifestFile(name: string): string {
  return join(folder, `${name}.yaml`)
}
