// An admin in a real browser: signs in, reads an event on a phone, signs out.
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { adminKey, createWorld, event, FakeBeacon } from '../support/world.ts'

let browser: Browser

beforeAll(async () => {
  browser = await startBrowser()
})

afterAll(() => browser?.close())

test('the console on a phone: sign in, read, sign out', { timeout: 60_000 }, async () => {
  const world = await createWorld({ config: { publicUrl: 'http://127.0.0.1:7071' } })
  const names = Array.from({ length: 40 }, (_, i) => `a-vm-with-a-long-name-${i}`)
  await new FakeBeacon(world, names[0]!).sees([event({ resources: names })])
  await world.drain()
  const server = serve({ fetch: world.app.fetch, port: 0 })
  const { port } = server.address() as AddressInfo
  const page = await browser.newPage({ viewport: { width: 360, height: 740 } })
  await page.goto(`http://127.0.0.1:${port}/console/events`)
  const key = page.getByLabel('Admin key or token')
  await key.fill('wrong')
  await key.press('Enter')
  await page.getByRole('alert').waitFor()
  await key.fill(adminKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Reboot of' }).click()
  await page.getByRole('heading', { name: 'Seen by' }).waitFor()
  expect(await page.getByRole('list', { name: 'Timeline' }).textContent()).toContain('delivered')
  expect(await page.locator('button').count()).toBe(0)
  const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
  expect(await page.evaluate(overflow)).toBe(0)
  const kept = async (name: string) =>
    (await page.context().cookies()).filter((cookie) => cookie.name === name)
  expect(await kept('foghorn-admin')).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }])
  expect(await kept('foghorn-form')).toMatchObject([{ httpOnly: true, sameSite: 'Lax' }])
  await page.getByRole('link', { name: 'All events' }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await key.waitFor()
  expect(await kept('foghorn-admin')).toEqual([])
  await page.close()
  server.close()
})
