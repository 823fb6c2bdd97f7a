// `npm run bundle [-- FOLDER]`: writes the files to deploy. The beacon is one file. The relay for
// Azure Functions is a folder to zip: the code, host.json, and the configuration if there is one. The
// relay for Cloudflare Workers is a folder for wrangler.
// If the configuration has mistakes, the command exits with code 2 and leaves no relay to deploy.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import { FoghornError } from '../shared/errors.ts'
import { checkPacked, help, readBundleWords } from './bundle-config.ts'
import { bundleWorker } from './cloudflare/bundle.ts'

const root = join(import.meta.dirname, '..')
const shown = (path: string) => relative(root, path)
const choice = readOrEnd(() => readBundleWords(process.argv.slice(2), process.env, root))
if (choice === 'help') {
  process.stdout.write(help)
  process.exit(0)
}
const { folder: dist, config, isLocal } = choice
const azure = join(dist, 'azure')
rmSync(azure, { recursive: true, force: true })
// made of the folder by the commands of the guide
rmSync(join(dist, 'azure.zip'), { force: true })
const verdict =
  config === undefined
    ? 'No configuration was packed. Put foghorn.config.json beside main.mjs, or the relay does not start.'
    : readOrEnd(() => checkPacked(config, shown(config), process.env, isLocal))

const common: BuildOptions = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  minify: true,
  absWorkingDir: root,
  logLevel: 'warning',
}

/** Libraries written for CommonJS load built-in modules with `require`. */
const requireBanner =
  "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

await build({
  ...common,
  entryPoints: ['beacon/main.ts'],
  outfile: join(dist, 'beacon.mjs'),
  // runs before all other code
  inject: ['infra/vm/node-version.mjs'],
})

mkdirSync(azure, { recursive: true })
await build({
  ...common,
  entryPoints: { main: 'infra/azure/main.ts' },
  outdir: azure,
  outExtension: { '.js': '.mjs' },
  // modules that are loaded lazily stay in separate files
  splitting: true,
  banner: { js: requireBanner },
  // the Functions host provides it
  external: ['@azure/functions-core'],
})
copyFileSync(join(root, 'infra/azure/host.json'), join(azure, 'host.json'))
const manifest = { name: 'foghorn-relay', private: true, type: 'module', main: 'main.mjs' }
writeFileSync(join(azure, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
if (config !== undefined) copyFileSync(config, join(azure, 'foghorn.config.json'))
const cloudflare = join(dist, 'cloudflare')
await bundleWorker(cloudflare, config)
const made = [shown(join(dist, 'beacon.mjs')), `${shown(azure)}/`, `${shown(cloudflare)}/`]
process.stdout.write(`${[...made, verdict].join('\n')}\n`)

function readOrEnd<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof FoghornError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(2)
  }
}
