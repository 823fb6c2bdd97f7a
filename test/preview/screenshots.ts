// `npm run screenshots`: takes pictures of the page in every state, light and dark, on a phone and on a desk,
// and writes them to dist/pages, and so each page of the console. It also takes the pictures of the README.
import { mkdirSync } from 'node:fs'
import { command } from '../../functions/cli/command.ts'
import { startBrowser } from '../support/browser.ts'
import { consolePictures } from './console-pictures.ts'
import { previewPage } from './page.ts'
import { pageScenes } from './page-scenes.ts'

const themes = ['light', 'dark'] as const
const screens = {
  phone: { width: 390, height: 844 },
  desk: { width: 1280, height: 900 },
  narrow: { width: 320, height: 640 },
}
const images = 'docs/images'
const shownPage = 'open-phone-light'
const shownMessage = '#reminder [data-kind=slack] .slack'

/** As much as a README has room for. */
const clip = { x: 0, y: 0, width: 390, height: 580 }

export const screenshots = command({
  usage: '[STATE...]',
  about: `
Takes pictures of the page in each STATE (default: every one), light and dark, on a phone and on a
desk, and of each page of the console, into dist/pages. Also takes the pictures of the README.`,
  words: { least: 0, most: 100 },
  async run({ words: wanted }) {
    mkdirSync('dist/pages', { recursive: true })
    mkdirSync(images, { recursive: true })
    const scenes = await pageScenes()
    const browser = await startBrowser()
    for (const colorScheme of themes) {
      for (const [screen, viewport] of Object.entries(screens)) {
        // scripts would count down from the time of the scene
        const page = await browser.newPage({ colorScheme, viewport, javaScriptEnabled: false })
        for (const [name, html] of Object.entries(scenes)) {
          if (wanted.length > 0 && !wanted.includes(name)) continue
          await page.setContent(html)
          const file = `${name.replace(/\W+/g, '-')}-${screen}-${colorScheme}`
          await page.screenshot({ path: `dist/pages/${file}.png`, fullPage: true })
          if (file === shownPage) await page.screenshot({ path: `${images}/page.png`, clip })
        }
        await page.close()
      }
    }
    if (wanted.length === 0) {
      const page = await browser.newPage({ viewport: { width: 560, height: 900 } })
      // this Chromium has no emoji
      const dot = '<span style="color: #e8912d">●</span>'
      await page.setContent((await previewPage()).replaceAll('🟠', dot))
      await page.addStyleTag({ content: '.slack { padding: 1rem }' })
      await page.locator(shownMessage).screenshot({ path: `${images}/slack.png` })
    }
    if (wanted.length === 0 || wanted.includes('console')) await consolePictures(browser, images)
    await browser.close()
  },
})
