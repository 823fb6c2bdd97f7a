// The relay's pages in a real browser, with one event that waits for a decision. The browser's timers are the
// test's, and its clock is years away from the relay's, which must not matter.
import type { AddressInfo } from 'node:net'
import { type ServerType, serve } from '@hono/node-server'
import type { Browser, Page } from 'playwright-core'
import { createWorld, event, FakeBeacon, type World } from './world.ts'

type PageOptions = NonNullable<Parameters<Browser['newPage']>[0]>

export interface Pages {
  world: World
  beacon: FakeBeacon
  origin: string
  /** What the browser's console said of pages that were opened. */
  complaints: string[]
  open(path: string, options?: PageOptions): Promise<Page>
  /** For the relay and for the browser. */
  pass(page: Page, ms: number): Promise<void>
  stop(): Promise<void>
}

export async function servePages(
  browser: Browser,
  options: Parameters<typeof createWorld>[0] = {},
): Promise<Pages> {
  const world = await createWorld(options)
  const beacon = new FakeBeacon(world, 'web_0')
  await beacon.sees([event()])
  await world.drain()
  let server: ServerType | undefined
  await new Promise<void>((resolve) => {
    server = serve({ fetch: world.app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve())
  })
  const origin = `http://127.0.0.1:${(server!.address() as AddressInfo).port}`
  const complaints: string[] = []
  return {
    world,
    beacon,
    origin,
    complaints,
    async open(path, of = {}) {
      const page = await browser.newPage(of)
      page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`))
      page.on('pageerror', (error) => complaints.push(error.message))
      if (of.javaScriptEnabled !== false) await page.clock.install({ time: 0 })
      await page.goto(origin + path)
      return page
    },
    async pass(page, ms) {
      world.clock.now += ms
      await page.clock.fastForward(ms)
    },
    async stop() {
      for (const context of browser.contexts()) await context.close()
      if ('closeAllConnections' in server!) server.closeAllConnections()
      await new Promise((resolve) => server!.close(resolve))
      world.store.close()
    },
  }
}

/** Presses the first button in the moment when the page says `text`, however busy this machine is. */
export function pressOnceSaid(page: Page, text: string): Promise<void> {
  return page.evaluate(`new Promise((resolve) => {
    new MutationObserver((_, observer) => {
      if (!document.body.innerText.includes(${JSON.stringify(text)})) return
      observer.disconnect()
      document.querySelector('main button').click()
      resolve()
    }).observe(document.body, { subtree: true, childList: true, characterData: true })
  })`)
}
