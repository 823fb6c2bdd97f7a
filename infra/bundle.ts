// `npm run bundle [-- FOLDER]`: writes the files to deploy. The beacon is one file. The relay for
// Azure Functions is a folder to zip: the code, host.json, and the configuration if there is one. The
// relay for Cloudflare Workers is a folder for wrangler. The relay for Node is a folder with one program.
// If the configuration has mistakes, the command exits with code 2 and leaves no relay to deploy.
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import { check } from '../functions/cli/check-config.ts'
import { command, flag, type Given, type Io, text, wrong } from '../functions/cli/command.ts'
import { isLoopback } from '../functions/schema/checks.ts'
import { bundleWorker } from './cloudflare/bundle.ts'

const root = join(import.meta.dirname, '..')
const shown = (path: string) => relative(root, path) + (path.endsWith('/') ? '/' : '')
const common = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  minify: true,
  absWorkingDir: root,
  logLevel: 'warning',
  metafile: true,
} satisfies BuildOptions & { metafile: true }

/** Libraries written for CommonJS load built-in modules with `require`. */
const requireBanner =
  "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

const bundleOptions = { config: text, 'without-config': flag, local: flag } as const

export const bundle = command({
  usage: '[FOLDER] [--config FILE | --without-config] [--local]',
  about: `
Writes the files to deploy into FOLDER (default: dist): the beacon, and the relay for Azure
Functions, Cloudflare Workers and Node.

  --config FILE      the configuration to pack (default: FOGHORN_CONFIG, or foghorn.config.json if
                     it exists)
  --without-config   pack no configuration
  --local            allow a loopback publicUrl, to try the bundle on this machine`,
  options: bundleOptions,
  words: { least: 0, most: 1 },
  async run({ options, words: [named = 'dist'], io }) {
    const { folder: dist, config, isLocal } = readChoice(options, named, io.environment, root)
    removeOld(dist)
    if (config !== undefined) await checkPacked(config, isLocal, io)
    const { paths } = await writeBundle(dist, config)
    io.print(paths.map(shown).join('\n'))
    if (config === undefined) {
      io.print(
        'No configuration was packed. Put foghorn.config.json beside main.mjs, or the relay does not start.',
      )
    }
  },
})

/** Nobody may deploy an older relay after a check that failed. */
function removeOld(dist: string): void {
  // the commands of the guide make the zip of the folder
  for (const old of ['azure', 'azure.zip', 'cloudflare', 'node'])
    rmSync(join(dist, old), { recursive: true, force: true })
}

/** The source files of each program, as paths from the root of the project. */
export type Inputs = Record<'beacon' | 'azure' | 'node' | 'cloudflare', string[]>

interface Bundle {
  /** The paths that were written; a folder ends with a slash. */
  paths: string[]
  inputs: Inputs
}

/** `dist` has no older bundle. */
export async function writeBundle(dist: string, config: string | undefined): Promise<Bundle> {
  const [azure, cloudflare, node] = ['azure', 'cloudflare', 'node'].map((name) => join(dist, name))
  const beacon = join(dist, 'beacon.mjs')
  mkdirSync(dist, { recursive: true })
  const ofBeacon = await build({
    ...common,
    entryPoints: ['beacon/main.ts'],
    outfile: beacon,
    // runs before all other code
    inject: ['infra/vm/node-version.mjs'],
  })
  const ofAzure = await bundleRelay('infra/azure/main.ts', join(azure!, 'main.mjs'))
  copyFileSync(join(root, 'infra/azure/host.json'), join(azure!, 'host.json'))
  const manifest = { name: 'foghorn-relay', private: true, type: 'module', main: 'main.mjs' }
  writeFileSync(join(azure!, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  if (config !== undefined) copyFileSync(config, join(azure!, 'foghorn.config.json'))
  const inputs = {
    beacon: Object.keys(ofBeacon.metafile.inputs),
    azure: ofAzure,
    node: await bundleRelay('infra/release/foghorn.ts', join(node!, 'foghorn.mjs')),
    cloudflare: await bundleWorker(cloudflare!, config),
  }
  return { paths: [beacon, `${azure}/`, `${cloudflare}/`, `${node}/`], inputs }
}

/** A program for Node, with the modules that it loads later beside it. Returns its source files. */
async function bundleRelay(entry: string, file: string): Promise<string[]> {
  mkdirSync(dirname(file), { recursive: true })
  const { metafile } = await build({
    ...common,
    entryPoints: { [basename(file, '.mjs')]: entry },
    outdir: dirname(file),
    outExtension: { '.js': '.mjs' },
    splitting: true,
    banner: { js: requireBanner },
    // the Functions host provides it
    external: ['@azure/functions-core'],
  })
  return Object.keys(metafile.inputs)
}

interface Choice {
  folder: string
  /** Undefined: no configuration is packed. */
  config: string | undefined
  /** The bundle is only for this machine. */
  isLocal: boolean
}

/** Paths from `root`. Throws FoghornError `arguments_wrong`. */
export function readChoice(
  values: Given<typeof bundleOptions>['options'],
  folder: string,
  environment: NodeJS.ProcessEnv,
  root: string,
): Choice {
  const without = values['without-config'] === true
  if (without && values.config !== undefined) {
    throw wrong('--config and --without-config exclude each other; write one of them')
  }
  const named = values.config ?? environment.FOGHORN_CONFIG
  const file = resolve(root, named ?? 'foghorn.config.json')
  const found = existsSync(file)
  if (!without && named !== undefined && !found) {
    throw wrong(`There is no configuration at "${named}". Write its path, or --without-config.`)
  }
  const config = without || !found ? undefined : file
  return { folder: resolve(root, folder), config, isLocal: values.local === true }
}

/** Prints what check-config does. Throws FoghornError if the configuration must not be deployed. */
export async function checkPacked(file: string, isLocal: boolean, io: Io): Promise<void> {
  const { config } = await check(file, true, io, { shownAs: shown(file) })
  const { publicUrl } = config
  if (isLoopback(publicUrl) && !isLocal) {
    const remedy =
      'Write the address of the function app: the output appUrl of the deployment. To try the bundle on this ' +
      'machine, add --local.'
    const what = `publicUrl "${publicUrl}" is loopback, so this is a test configuration`
    throw wrong(`${shown(file)}: ${what}. ${remedy}`)
  }
  io.print(`Links in messages lead to ${publicUrl}`)
}
