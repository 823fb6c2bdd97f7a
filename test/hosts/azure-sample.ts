// A small app for the tests of the Azure adapter. It answers with what it got, and waits at gates
// if a test must see one thing before another. Gates open on `POST /open/<name>`, so it works in
// any process.
import { app } from '@azure/functions'
import { Hono } from 'hono'
import { httpHandler } from '../../functions/host/azure/http.ts'
import { createAzureLog } from '../../functions/host/azure/log.ts'
import { limit } from '../../functions/http/problem.ts'

/** Lines that did not go to an invocation's logger. */
export const printed: string[] = []

const { log, during } = createAzureLog({
  write: (line) => {
    printed.push(line)
    if (process.env.FUNCTIONS_ENTRY !== undefined) process.stdout.write(`${line}\n`)
  },
  now: Date.now,
  level: 'debug',
  secrets: ['a-secret-of-the-app'],
})

/** Read while this file loads, as in the relay. */
const settings = { own: process.env.SAMPLE_SETTING, mode: process.env.WEBSITE_PLACEHOLDER_MODE }

const gates = new Map<string, PromiseWithResolvers<void>>()

function gate(name: string): PromiseWithResolvers<void> {
  const known = gates.get(name) ?? Promise.withResolvers<void>()
  gates.set(name, known)
  return known
}

const hono = new Hono()
hono.post('/open/:name', (c) => {
  gate(c.req.param('name')).resolve()
  return c.body(null, 204)
})
hono.get('/settings', (c) => c.json({ ...settings, directory: process.cwd() }))
hono.all('/seen/*', (c) => {
  const { method, url, headers } = c.req.raw
  return c.json({ method, url, headers: Object.fromEntries(headers), queries: c.req.queries() })
})
hono.get('/cookies', (c) => {
  c.header('set-cookie', 'one=a=b==; Path=/; HttpOnly; Partitioned')
  c.header('set-cookie', 'two=c%3Dd, e; Max-Age=60', { append: true })
  return c.text('two')
})
hono.get('/cookie', (c) => c.text('one', 200, { 'set-cookie': 'one=a=b==' }))
hono.post('/bytes', async (c) => c.body(await c.req.arrayBuffer(), 200, { 'x-kind': 'bytes' }))
hono.post('/echo', (c) => new Response(c.req.raw.body))
hono.post('/refused', (c) => c.text('too large', 413))
hono.post('/refused/:code', (c) => c.text('not this', Number(c.req.param('code')) as 401))
hono.post('/cancelled', async (c) => {
  const reader = c.req.raw.body!.getReader()
  await reader.read()
  await reader.cancel()
  return c.body(null, 400)
})
hono.post('/limited', limit(10_000), async (c) => c.text(await c.req.text()))
hono.get('/text', (c) => c.body('12 characters', 200, { 'content-length': '13', etag: '"e"' }))
hono.get('/status/:code', (c) => c.body(null, Number(c.req.param('code')) as 200))
hono.get('/pieces/:gate', (c) => {
  const pieces = async function* () {
    yield new TextEncoder().encode('first')
    await gate(c.req.param('gate')).promise
    yield new TextEncoder().encode('second')
  }
  return c.body(ReadableStream.from(pieces()))
})
hono.get('/logs/:name', async (c) => {
  const name = c.req.param('name')
  log.info('began', { name })
  await gate(name).promise
  log.warn('ended', { name })
  log.error('failed', { name, detail: 'a-secret-of-the-app' })
  log.debug('looked', { name })
  return c.text(name)
})
hono.get('/outlived', (c) => {
  void gate('outlived').promise.then(() => log.info('outlived'))
  return c.text('begun')
})
hono.post('/upload', async (c) => {
  const reader = c.req.raw.body!.getReader()
  await reader.read()
  log.info('upload_begun')
  await reader.read().catch((error) => log.info('upload_broken', { error: String(error) }))
  return c.text('too late')
})

async function fetch(request: Request): Promise<Response> {
  if (new URL(request.url).pathname === '/throws') throw new Error('a-secret-of-the-app is wrong')
  return hono.fetch(request)
}

app.setup({ enableHttpStream: true })
app.http('relay', {
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'],
  authLevel: 'anonymous',
  route: '{*path}',
  handler: during(httpHandler(fetch, log)),
})
app.storageQueue('wake', {
  queueName: 'wake-ups',
  connection: 'AzureWebJobsStorage',
  handler: during((message, context) => {
    const { dequeueCount, queueTrigger } = context.triggerMetadata ?? {}
    const fields = { message: JSON.stringify(message), dequeueCount: Number(dequeueCount) }
    log.info('woken', { ...fields, queueTrigger: typeof queueTrigger })
    if (message === 'poison') throw new Error('this one never works')
  }),
})
app.timer('sweep', {
  schedule: '*/15 * * * * *',
  handler: during((timer) => log.info('swept', { isPastDue: timer.isPastDue })),
})
app.hook.preInvocation(({ invocationContext: { functionName } }) => {
  log.debug('before', { functionName })
})
app.hook.postInvocation(({ error }) => {
  log.debug('after', { failed: error !== null })
})
app.hook.appStart(() => log.info('app_started'))
app.hook.appTerminate(() => log.info('app_ended'))
