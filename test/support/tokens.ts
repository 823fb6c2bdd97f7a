// Tokens of the API: how a test gets one, and sends a request with it.
import { adminKey, type World } from './world.ts'

interface Made {
  id: string
  token: string
  [field: string]: unknown
}

/** Sends a request to the API. An object is sent as JSON. */
export function askApi(
  { app }: Pick<World, 'app'>,
  key: string,
  path: string,
  { method = 'GET', body }: { method?: string; body?: unknown } = {},
) {
  const headers = { authorization: `Bearer ${key}` }
  const text = typeof body === 'object' ? JSON.stringify(body) : (body as string | undefined)
  return app.request(path, { method, headers, ...(text === undefined ? {} : { body: text }) })
}

export async function makeToken(
  world: Pick<World, 'app'>,
  wish: object,
  key = adminKey,
): Promise<Made> {
  const body = { name: 'robot', scopes: ['read'], ...wish }
  const response = await askApi(world, key, '/v1/tokens', { method: 'POST', body })
  if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`)
  return (await response.json()) as Made
}
