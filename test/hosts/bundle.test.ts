// `app.ts` and all its imports bundle for a runtime without Node. A dry run of `wrangler deploy`
// without any compatibility flag would not find a Node module.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

async function bundle(entry: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'foghorn-bundle-'))
  try {
    const config = join(directory, 'wrangler.json')
    const settings = { name: 'foghorn', main: entry, compatibility_date: '2026-10-15' }
    await writeFile(config, JSON.stringify(settings))
    const wrangler = join(root, 'node_modules/wrangler/bin/wrangler.js')
    const outdir = join(directory, 'out')
    const words = [wrangler, 'deploy', '--dry-run', '--config', config, '--outdir', outdir]
    const env = { ...process.env, WRANGLER_SEND_METRICS: 'false', CI: 'true', HOME: directory }
    const { stdout, stderr } = await run(process.execPath, words, { cwd: root, env })
    const names = (await readdir(outdir)).filter((name) => name.endsWith('.js'))
    const texts = await Promise.all(names.map((name) => readFile(join(outdir, name), 'utf8')))
    return [stdout, stderr, ...texts].join('\n')
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const nodeModules = /\bfrom\s*["']node:|require\(["']node:|import\(["']node:/

test('the app bundles without Node', { timeout: 60_000 }, async () => {
  const text = await bundle(join(root, 'test/hosts/worker.ts'))
  expect(text).toContain('/v1/reports')
  expect(text).not.toMatch(nodeModules)
})
