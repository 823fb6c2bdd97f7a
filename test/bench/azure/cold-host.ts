// The small Functions host around the built app and nothing else, so that what is loaded is the app: no queue is
// polled, no timer runs. FUNCTIONS_ENTRY names the app's file, PORT the port.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { FunctionsHost } from '../../support/functions-host.ts'

let loadMs = Number.NaN
const host = await FunctionsHost.start({
  load: async () => {
    const from = performance.now()
    await import(pathToFileURL(resolve(process.env.FUNCTIONS_ENTRY!)).href)
    loadMs = performance.now() - from
  },
  port: Number(process.env.PORT ?? 0),
})
process.stdout.write(`${JSON.stringify({ event: 'functions_host_started', loadMs })}\n`)
process.once('SIGTERM', async () => {
  await host.stop()
  // the library's own server stays open
  process.exit(0)
})
