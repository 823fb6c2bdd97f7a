// `npm run screenshots`: pictures of the page in every state, light and dark, on a phone and on a desk, to
// dist/pages; and the two that the README shows, to .github/images.
import { mkdirSync } from 'node:fs'
import { startBrowser } from '../support/browser.ts'
import { pageScenes } from './page-scenes.ts'

const themes = ['light', 'dark'] as const
const screens = {
  phone: { width: 390, height: 844 },
  desk: { width: 1280, height: 900 },
  narrow: { width: 320, height: 640 },
}
const shown = { 'open-phone-dark': 'open', 'approved-and-passed-on-phone-light': 'decided' }

/** As much as a README has room for. */
const clip = { x: 0, y: 0, width: 390, height: 580 }

mkdirSync('dist/pages', { recursive: true })
mkdirSync('.github/images', { recursive: true })
const scenes = await pageScenes()
const wanted = process.argv.slice(2)
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
      const image = Object.entries(shown).find(([one]) => one === file)?.[1]
      if (image) await page.screenshot({ path: `.github/images/${image}.png`, clip })
    }
    await page.close()
  }
}
await browser.close()
