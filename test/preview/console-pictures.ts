// Pictures of each page of the console, light and dark, at three widths and on paper, and those of the docs.
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import type { Browser } from 'playwright-core'
import { consolePaths } from '../features/console.ts'
import { adminKey } from '../support/world.ts'
import { consoleWorld } from './console-world.ts'
import { endingOf, folder, shownTabs, withFont } from './pictures.ts'

const screens = [
  { width: 390, height: 844 },
  { width: 1280, height: 860 },
  { width: 1920, height: 1080 },
]
/** The part of A4 between the margins of a browser. */
const paper = { width: 718, height: 1046 }

export async function consolePictures(browser: Browser): Promise<void> {
  const world = await consoleWorld({ events: 80 })
  const server = serve({ fetch: world.app.fetch, port: 0, hostname: '127.0.0.1' })
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/console`
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
      // a script would count down
      const page = await browser.newPage({ colorScheme, viewport, javaScriptEnabled: false })
      await page.goto(url)
      await page.screenshot({
        path: `dist/pages/console-sign-in-${viewport.width}-${colorScheme}.png`,
      })
      await page.getByLabel('Admin key or token').fill(adminKey)
      await page.getByRole('button', { name: 'Sign in' }).click()
      for (const [name, path] of Object.entries(paths)) {
        await page.goto(url + path)
        const look = `${viewport.width}-${colorScheme}`
        await page.screenshot({ path: `dist/pages/console-${name}-${look}.png`, fullPage: true })
      }
      if (viewport === screens[0]) {
        await page.setViewportSize(paper)
        await page.emulateMedia({ media: 'print' })
        for (const [name, path] of Object.entries(paths)) {
          await page.goto(url + path)
          const picture = `dist/pages/console-${name}-print-${colorScheme}.png`
          await page.screenshot({ path: picture, fullPage: true })
        }
      }
      await page.close()
    }
    const sharp = { colorScheme, deviceScaleFactor: 2, javaScriptEnabled: false }
    const page = await browser.newPage(sharp)
    await page.goto(url)
    await page.getByLabel('Admin key or token').fill(adminKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    for (const [name, { path, screen }] of Object.entries(shownTabs)) {
      await page.setViewportSize(screen)
      await page.goto(url + path)
      // the policy of the page itself allows no further style
      const copy = await browser.newPage({ ...sharp, viewport: screen })
      await copy.setContent(withFont(await page.content()))
      await copy.screenshot({ path: `${folder}/${name}${endingOf(colorScheme)}.png` })
      await copy.close()
    }
    await page.close()
  }
  server.close()
  if ('closeAllConnections' in server) server.closeAllConnections()
  world.store.close()
}
