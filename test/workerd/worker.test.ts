// The Worker with settings that are wrong: it answers, and its log names every mistake.
import { env } from 'cloudflare:test'
import { expect, test } from 'vitest'
import { createWorker } from '../../functions/host/cloudflare/worker.ts'
import { baseConfig } from '../support/fake-beacon.ts'

type Bindings = Parameters<ReturnType<typeof createWorker>['handlers']['fetch']>[1]

async function start(config: object, more: Record<string, unknown> = {}) {
  const lines: string[] = []
  const text = JSON.stringify({ ...baseConfig, ...config })
  const { handlers } = createWorker(text, (line) => lines.push(line))
  const bindings = { ...env, ...more } as unknown as Bindings
  const response = await handlers.fetch(new Request('https://foghorn.example/healthz'), bindings)
  return { status: response.status, log: lines.join('\n') }
}

test('right settings', async () => {
  expect(await start({})).toEqual({ status: 200, log: '' })
})

test.each([
  ['no link key', {}, { FOGHORN_LINK_KEY: undefined }, /FOGHORN_LINK_KEY is not set/],
  ['a mistake in the configuration', { routes: 7 }, {}, /in foghorn\.config\.json:.*routes/s],
  [
    'networks that only development has',
    { allowNetworks: ['10.0.0.0/8'] },
    {},
    /allowNetworks.*public addresses only/,
  ],
  ['sign-in, which this host lacks', { signIn: signIn() }, {}, /signIn/],
])('%s', async (_name, config, more, expected) => {
  const { status, log } = await start(config, more)
  expect(status).toBe(503)
  expect(log).toMatch(expected)
})

test('development has networks', async () => {
  const networks = { allowNetworks: ['127.0.0.0/8'] }
  expect((await start(networks, { FOGHORN_DEVELOPMENT: 'true' })).status).toBe(200)
})

function signIn() {
  return { tenant: '6f0b1c1e-2a55-4f1c-9d6e-1f0a9a1b2c3d' }
}
