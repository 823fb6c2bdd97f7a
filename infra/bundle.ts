// `npm run bundle [-- FOLDER]`: what is deployed, in dist or there. The beacon as one file; the relay for Azure
// Functions as a folder to zip: the code, host.json, and the configuration, where there is one.
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { type BuildOptions, build } from 'esbuild'

const root = join(import.meta.dirname, '..')
const dist = resolve(root, process.argv[2] ?? 'dist')
const azure = join(dist, 'azure')
const config = resolve(root, process.env.FOGHORN_CONFIG ?? 'foghorn.config.json')

const common: BuildOptions = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  minify: true,
  absWorkingDir: root,
  logLevel: 'warning',
}

/** Libraries written for CommonJS ask for built-in modules by `require`. */
const requireBanner =
  "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

await build({
  ...common,
  entryPoints: ['beacon/main.ts'],
  outfile: join(dist, 'beacon.mjs'),
  // before all other code
  inject: ['infra/vm/node-version.mjs'],
})

rmSync(azure, { recursive: true, force: true })
mkdirSync(azure, { recursive: true })
await build({
  ...common,
  entryPoints: { main: 'infra/azure/main.ts' },
  outdir: azure,
  outExtension: { '.js': '.mjs' },
  // what is loaded lazily stays in files of its own
  splitting: true,
  banner: { js: requireBanner },
  // the Functions host brings it
  external: ['@azure/functions-core'],
})
copyFileSync(join(root, 'infra/azure/host.json'), join(azure, 'host.json'))
const manifest = { name: 'foghorn-relay', private: true, type: 'module', main: 'main.mjs' }
writeFileSync(join(azure, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
const shown = (path: string) => relative(root, path)
const told = [shown(join(dist, 'beacon.mjs')), `${shown(azure)}/`]
if (existsSync(config)) {
  copyFileSync(config, join(azure, 'foghorn.config.json'))
  told[1] += ` with ${shown(config)}`
} else told[1] += ` without a configuration: there is no ${shown(config)}`
process.stdout.write(`${told.join('\n')}\n`)
