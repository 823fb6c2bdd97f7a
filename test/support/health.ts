// What a relay reports about itself to an admin.
import { adminKey, type World } from './world.ts'

export async function healthOf({ app }: Pick<World, 'app'>) {
  const response = await app.request('/healthz', {
    headers: { authorization: `Bearer ${adminKey}` },
  })
  return (await response.json()) as { status: string; time: string; troubles?: string[] }
}
