// An admin's call for a drill.
import { adminKey, type World } from './world.ts'

export function postDrill(world: World, body: unknown, key = adminKey) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const headers = { authorization: `Bearer ${key}` }
  return world.app.request('/v1/drills', { method: 'POST', headers, body: text })
}

export async function problemOf(response: Response) {
  return (await response.json()) as { code: string; detail: string }
}
