// Pictures of each page of the console, light and dark, at three widths and on paper, and those of the docs.
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { consolePaths } from '../features/console.ts'
import { adminKey, type World } from '../support/world.ts'
import { consoleWorld } from './console-world.ts'
import { endingOf, folder, shownTabs, withFont } from './pictures.ts'

const screens = [
  { width: 390, height: 844 },
  { width: 1024, height: 768 },
  { width: 1280, height: 860 },
  { width: 1920, height: 1080 },
]
/** The part of A4 between the margins of a browser. */
const paper = { width: 718, height: 1046 }
/** Pages that look different with none, few or very many open events. */
const crowds = {
  none: { open: 'none' },
  few: { open: 'few' },
  many: { further: 46 },
} as const

export async function consolePictures(browser: Browser): Promise<void> {
  for (const [name, options] of Object.entries(crowds)) {
    const { url, close } = await serveWorld(await consoleWorld({ events: 12, ...options }))
    for (const colorScheme of ['light', 'dark'] as const)
      for (const viewport of screens) {
        const page = await signIn(browser, url, { colorScheme, viewport })
        const pages = { now: '', wall: '?wall=1', upcoming: '/upcoming' }
        await takeAll(page, url, pages, `with-${name}-${viewport.width}-${colorScheme}`)
        await page.close()
      }
    close()
  }
  await allPages(browser)
}

async function serveWorld(world: World) {
  const server = serve({ fetch: world.app.fetch, port: 0, hostname: '127.0.0.1' })
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/console`
  const close = () => {
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
    world.store.close()
  }
  return { url, close }
}

/** A script would count down. */
async function signIn(
  browser: Browser,
  url: string,
  options: BrowserContextOptions,
  first?: string,
) {
  const page = await browser.newPage({ ...options, javaScriptEnabled: false })
  await page.goto(url)
  if (first !== undefined) await page.screenshot({ path: first })
  await page.getByLabel('Admin key or token').fill(adminKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  return page
}

async function takeAll(page: Page, url: string, paths: Record<string, string>, look: string) {
  for (const [name, path] of Object.entries(paths)) {
    await page.goto(url + path)
    await page.screenshot({ path: `dist/pages/console-${name}-${look}.png`, fullPage: true })
  }
}

async function allPages(browser: Browser): Promise<void> {
  const world = await consoleWorld({ events: 80 })
  const { url, close } = await serveWorld(world)
  const [event] = await world.store.listOpen(['prod'], 1)
  const paths = {
    now: '',
    upcoming: '/upcoming',
    history: '/events',
    beacons: '/beacons',
    channels: '/channels',
    channel: '/channels/on-call',
    ...consolePaths,
    event: `/events/${event!.fleet}/${event!.eventId}`,
  }
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const viewport of screens) {
      const look = `${viewport.width}-${colorScheme}`
      const first = `dist/pages/console-sign-in-${look}.png`
      const page = await signIn(browser, url, { colorScheme, viewport }, first)
      await takeAll(page, url, paths, look)
      if (viewport === screens[0]) {
        await page.setViewportSize(paper)
        await page.emulateMedia({ media: 'print' })
        await takeAll(page, url, paths, `print-${colorScheme}`)
      }
      await page.close()
    }
    const sharp = { colorScheme, deviceScaleFactor: 2 }
    const page = await signIn(browser, url, sharp)
    for (const [name, { path, screen }] of Object.entries(shownTabs)) {
      await page.setViewportSize(screen)
      await page.goto(url + path)
      // the policy of the page itself allows no further style
      const copy = await browser.newPage({ ...sharp, javaScriptEnabled: false, viewport: screen })
      await copy.setContent(withFont(await page.content()))
      await copy.screenshot({ path: `${folder}/${name}${endingOf(colorScheme)}.png` })
      await copy.close()
    }
    await page.close()
  }
  close()
}
