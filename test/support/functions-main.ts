// The small Functions host as a program, for tests that start the built app: as a placeholder first, then
// specialized for the app. FUNCTIONS_ENTRY names the app's file, PORT the port (0: any), AzureWebJobsStorage the storage whose queues it polls.
// FUNCTIONS_TRIGGERS which triggers work by themselves (`queue,timer`), FUNCTIONS_HIDDEN_SECONDS how long
// a message that failed is hidden, where host.json's own time is too long for a test. Prints the app's
// own log lines as they are; `POST /admin/functions/<name>` runs a queue or timer function and answers
// 500 where it failed.
import { dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { FunctionsHost } from './functions-host.ts'
import { Triggers } from './functions-triggers.ts'

const killAfterMs = 5_000
const print = (line: string) => void process.stdout.write(`${line}\n`)
const entry = process.env.FUNCTIONS_ENTRY
if (entry === undefined) throw new Error('FUNCTIONS_ENTRY is not set; write the path of the app')

const app = resolve(entry)
const settings = { ...process.env }
becomePlaceholder()
print(JSON.stringify({ event: 'placeholder_started', settings: Object.keys(process.env) }))
const host = await FunctionsHost.start({
  load: () => {
    specialize(settings, dirname(app))
    return import(pathToFileURL(app).href)
  },
  port: Number(settings.PORT ?? 0),
  onLine: ({ category, level, message }) =>
    print(category === 'user' ? message : `${level}: ${message}`),
})
const storage = process.env.AzureWebJobsStorage
const { FUNCTIONS_TRIGGERS: which = 'queue,timer', FUNCTIONS_HIDDEN_SECONDS: hidden } = process.env
const options = {
  types: which.split(',').map((type) => `${type}Trigger`),
  ...(hidden !== undefined && { hiddenSeconds: Number(hidden) }),
}
const triggers = storage ? new Triggers(host, storage, options) : undefined
const ended = new Promise((resolved) => {
  process.once('SIGTERM', resolved).once('SIGINT', resolved)
})
print(
  JSON.stringify({
    event: 'functions_host_started',
    port: new URL(host.url).port,
    functions: host.functions,
  }),
)
await ended
// Azure does not wait for a running function, and only briefly for the worker
setTimeout(() => process.kill(process.pid, 'SIGKILL'), killAfterMs)
void triggers?.stop()
await host.stop()
print(JSON.stringify({ event: 'functions_host_stopped' }))
// the library's own server stays open
process.exit(0)

/** Flex Consumption starts workers in advance, without an app and its settings. */
function becomePlaceholder(): void {
  const { PATH = '' } = process.env
  replaceEnvironment({ PATH, WEBSITE_PLACEHOLDER_MODE: '1', FUNCTIONS_WORKER_RUNTIME: 'node' })
}

/** Does what `functionEnvironmentReloadRequest` does in the worker before it loads the app. */
function specialize(environment: NodeJS.ProcessEnv, directory: string): void {
  replaceEnvironment(environment)
  process.chdir(directory)
}

function replaceEnvironment(environment: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, environment)
}
