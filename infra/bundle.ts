// `npm run bundle [-- FOLDER]`: writes the files to deploy. The beacon is one file. The relay for
// Azure Functions is a folder to zip: the code, host.json, and the configuration if there is one. The
// relay for Cloudflare Workers is a folder for wrangler.
// If the configuration has mistakes, the command exits with code 2 and leaves no relay to deploy.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import { command } from '../functions/cli/command.ts'
import { bundleOptions, checkPacked, choiceOf } from './bundle-config.ts'
import { bundleWorker } from './cloudflare/bundle.ts'

const root = join(import.meta.dirname, '..')
const shown = (path: string) => relative(root, path)
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

export const bundle = command({
  usage: '[FOLDER] [--config FILE | --without-config] [--local]',
  about: `
Writes the files to deploy into FOLDER (default: dist): the beacon, and the relay for Azure
Functions and for Cloudflare Workers.

  --config FILE      the configuration to pack (default: FOGHORN_CONFIG, or foghorn.config.json if
                     it exists)
  --without-config   pack no configuration
  --local            allow a loopback publicUrl, to try the bundle on this machine`,
  options: bundleOptions,
  words: { least: 0, most: 1 },
  async run({ options, words: [named = 'dist'], io }) {
    const { folder: dist, config, isLocal } = choiceOf(options, named, io.environment, root)
    const azure = join(dist, 'azure')
    rmSync(azure, { recursive: true, force: true })
    // made of the folder by the commands of the guide
    rmSync(join(dist, 'azure.zip'), { force: true })
    if (config !== undefined) checkPacked(shown(config), isLocal, io)
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
    io.print(made.join('\n'))
    if (config === undefined) {
      io.print(
        'No configuration was packed. Put foghorn.config.json beside main.mjs, or the relay does not start.',
      )
    }
  },
})
