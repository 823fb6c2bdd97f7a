// Bundles the relay for Cloudflare Workers: a folder with the code, wrangler.jsonc and the
// configuration.
import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

/** Libraries written for CommonJS load built-in modules with `require`. */
const requireBanner =
  "import { createRequire } from 'node:module'; const require = createRequire('/');"

const root = join(import.meta.dirname, '../..')

/** Replaces the folder. Without a configuration, the relay does not start. Returns the source files. */
export async function bundleWorker(
  folder: string,
  config: string | undefined,
  { minify = true } = {},
): Promise<string[]> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const { metafile } = await build({
    bundle: true,
    metafile: true,
    format: 'esm',
    target: 'es2024',
    minify,
    // names of classes are part of the deployment
    keepNames: true,
    conditions: ['workerd', 'worker', 'import'],
    mainFields: ['module', 'main'],
    absWorkingDir: root,
    entryPoints: ['infra/cloudflare/main.ts'],
    outfile: join(folder, 'main.js'),
    banner: { js: requireBanner },
    external: ['./foghorn.config.json', 'cloudflare:*', 'node:*'],
    logLevel: 'warning',
  })
  copyFileSync(join(root, 'infra/cloudflare/wrangler.jsonc'), join(folder, 'wrangler.jsonc'))
  if (config !== undefined) copyFileSync(config, join(folder, 'foghorn.config.json'))
  return Object.keys(metafile.inputs)
}
