// What is deployed to Cloudflare: the settings, and the bundle as wrangler takes it.
import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { bundleWorker } from '../../infra/cloudflare/bundle.ts'
import { newFolder } from '../support/folder.ts'
import { baseConfig } from '../support/world.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const folder = newFolder('cloudflare')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('Cloudflare logs no addresses, because links that decide are addresses', () => {
  const text = readFileSync(join(root, 'infra/cloudflare/wrangler.jsonc'), 'utf8')
  const { observability, triggers } = JSON.parse(text.replace(/^\s*\/\/.*$/gm, ''))
  expect(observability).toEqual({ logs: { enabled: true, invocation_logs: false } })
  expect(triggers.crons).toEqual(['* * * * *'])
})

test('wrangler takes the bundle, with the configuration as a text', {
  timeout: 60_000,
}, async () => {
  const config = join(folder, 'own.json')
  writeFileSync(config, JSON.stringify(baseConfig))
  const dist = join(folder, 'dist')
  await bundleWorker(dist, config)
  const wrangler = join(root, 'node_modules/wrangler/bin/wrangler.js')
  const words = ['deploy', '--dry-run', '--config', join(dist, 'wrangler.jsonc')]
  const env = { ...process.env, WRANGLER_SEND_METRICS: 'false', CI: 'true', HOME: folder }
  const { stdout } = await run(process.execPath, [wrangler, ...words], { cwd: folder, env })
  expect(stdout).toMatch(/foghorn\.config\.json\s+│\s+text/)
  expect(stdout).toContain('env.RELAY (RelayObject)')
})
