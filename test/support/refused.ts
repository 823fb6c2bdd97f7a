// A report that the relay refuses: a problem is told, and nothing else happens.
import { expect } from 'vitest'
import type { World } from './world.ts'

export type Post = () => Promise<Response>

/** Expects a problem, with nothing stored or sent, and returns its detail. `tables`: those of the world. */
export async function expectRefused(
  world: World,
  post: Post,
  status: number,
  code: string,
): Promise<string> {
  const before = await world.store.contents()
  const response = await post()
  const body = (await response.json()) as Record<string, unknown>
  expect([response.status, body.code]).toEqual([status, code])
  expect(response.headers.get('content-type')).toContain('application/problem+json')
  expect(body).toMatchObject({ status, title: code.replaceAll('_', ' ') })
  expect(await world.store.contents()).toEqual(before)
  await world.drain()
  expect(await world.store.contents()).toEqual(before)
  expect(JSON.stringify(body) + world.lines.join()).not.toMatch(/whsec_|MfKQ9r8|dGVzdGtl/)
  return String(body.detail)
}
