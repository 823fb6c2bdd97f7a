// The guard of a runtime that has only `fetch`: what it refuses never reaches the network.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createGuardedFetch } from '../../functions/notify/fetch.ts'

const reached = vi.fn(async (_url: string, _init: RequestInit) => new Response('ok'))

beforeEach(() => vi.stubGlobal('fetch', reached))
afterEach(() => {
  vi.unstubAllGlobals()
  reached.mockClear()
})

const init = { method: 'POST', redirect: 'manual' } as const

test.each([
  'http://hooks.example/in',
  'https://127.0.0.1/in',
  'https://[::1]/in',
  'https://localhost/in',
  'https://10.0.0.4/in',
  'https://[::ffff:10.0.0.4]/in',
  'https://169.254.169.254/metadata/instance',
  'https://168.63.129.16/in',
  'https://hooks.example:25/in',
])('%s is refused', async (url) => {
  const send = createGuardedFetch([])
  await expect(send(url, init)).rejects.toMatchObject({ code: 'address_forbidden' })
  expect(reached).not.toHaveBeenCalled()
})

test('a public address is reached, and no redirect is followed', async () => {
  const send = createGuardedFetch([])
  expect((await send('https://hooks.example/in', init)).status).toBe(200)
  expect(reached.mock.calls[0]![1].redirect).toBe('manual')
})

test('an allowed network is reached, by plain http, too', async () => {
  const send = createGuardedFetch(['127.0.0.0/8'])
  expect((await send('http://127.0.0.1:9/in', init).catch((error) => error)).code).toBe(
    'address_forbidden',
  )
  expect((await send('http://127.0.0.1:8080/in', init)).status).toBe(200)
})
