// `npm run dev:cloudflare`: the relay for Cloudflare Workers on this machine, in the real workerd. It
// takes the same variables as `npm start`, and keeps its state in FOGHORN_DATA.
import { join } from 'node:path'
import { unstable_startWorker as startWorker } from 'wrangler'
import { developmentName } from '../../functions/config/hosts.ts'
import { readConfigFile } from '../../functions/host/config-file.ts'
import { readSettings } from '../../functions/host/node/settings.ts'
import { messageOf } from '../../shared/errors.ts'
import { bundleWorker } from './bundle.ts'

/** The interval in wrangler.jsonc. Only Cloudflare itself runs cron triggers. */
const cronMs = 60_000

Object.assign(process.env, {
  // nothing here needs the internet
  WRANGLER_SEND_METRICS: 'false',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  // it would store the address of each request, and addresses of channels are secrets
  X_LOCAL_OBSERVABILITY: 'false',
})
const print = (line: string) => void process.stdout.write(`${line}\n`)

try {
  await start()
} catch (error) {
  process.stderr.write(`The relay cannot start: ${messageOf(error)}\n`)
  process.exit(2)
}

async function start(): Promise<void> {
  const { port, address, dataDirectory } = await readSettings(process.env)
  const { name: config, text } = readConfigFile(process.env, '.')
  const folder = join(dataDirectory, 'worker')
  await bundleWorker(folder, config, { minify: false })
  const worker = await startWorker({
    config: join(folder, 'wrangler.jsonc'),
    bindings: buildBindings(text),
    dev: {
      server: { hostname: address, port },
      persist: join(dataDirectory, 'cloudflare'),
      inspector: false,
      watch: false,
      remote: false,
      logLevel: 'error',
      structuredLogsHandler: ({ message }: { message: string }) => print(message),
    },
  })
  const { origin } = await worker.url
  const sweep = () => fetch(`${origin}/cdn-cgi/local/scheduled`).then((answer) => answer.text())
  // the first one starts the object
  await sweep()
  const timer = setInterval(() => void sweep(), cronMs)
  const stop = async () => {
    clearInterval(timer)
    await worker.dispose()
    process.exit(0)
  }
  process.once('SIGTERM', () => void stop()).once('SIGINT', () => void stop())
  print(JSON.stringify({ event: 'worker_started', address: origin }))
}

/** The variables that the relay reads, and those that the configuration names. */
function buildBindings(configText: string) {
  const named = [...configText.matchAll(/"env:(\w+)"/g)].map((match) => match[1]!)
  const own = Object.keys(process.env).filter((name) => name.startsWith('FOGHORN_'))
  const values = [...own, ...named].map((name) => [name, process.env[name] ?? ''] as const)
  return Object.fromEntries(
    [...values, [developmentName, 'true'] as const].map(([name, value]) => [
      name,
      { type: 'secret_text' as const, value },
    ]),
  )
}
