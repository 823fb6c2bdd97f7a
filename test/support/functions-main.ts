// The small Functions host as a program, for tests that start the built app: FUNCTIONS_ENTRY names
// the app's file, PORT the port (0: any), AzureWebJobsStorage the storage whose queues it polls.
// FUNCTIONS_TRIGGERS which triggers work by themselves (`queue,timer`), FUNCTIONS_HIDDEN_SECONDS how long
// a message that failed is hidden, where host.json's own time is too long for a test. Prints the app's
// own log lines as they are; `POST /admin/functions/<name>` runs a queue or timer function and answers
// 500 where it failed.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { FunctionsHost } from './functions-host.ts'
import { Triggers } from './functions-triggers.ts'

const killAfterMs = 5_000
const print = (line: string) => void process.stdout.write(`${line}\n`)
const entry = process.env.FUNCTIONS_ENTRY
if (entry === undefined) throw new Error('FUNCTIONS_ENTRY is not set; write the path of the app')

const host = await FunctionsHost.start({
  load: () => import(pathToFileURL(resolve(entry)).href),
  port: Number(process.env.PORT ?? 0),
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
// Azure waits for no function that still runs, and not for long for the worker
setTimeout(() => process.kill(process.pid, 'SIGKILL'), killAfterMs)
void triggers?.stop()
await host.stop()
print(JSON.stringify({ event: 'functions_host_stopped' }))
// the library's own server stays open
process.exit(0)
