// `npm run screenshots`: takes pictures of the page in every state, light and dark, on a phone and on a desk,
// and writes them to dist/pages, and so each page of the console. It also takes the pictures of the README.
import { mkdirSync, writeFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { command } from '../../functions/cli/command.ts'
import { startBrowser } from '../support/browser.ts'
import { consolePictures } from './console-pictures.ts'
import { idOf, previewPage } from './page.ts'
import { pageScenes } from './page-scenes.ts'
import {
  endingOf,
  folder,
  mailPage,
  pictureTexts,
  shownMessages,
  shownPage,
  shownScene,
  textsFile,
  withFont,
} from './pictures.ts'
import { recordDemo } from './recording.ts'

const themes = ['light', 'dark'] as const
const screens = {
  phone: { width: 390, height: 844 },
  desk: { width: 1280, height: 900 },
  narrow: { width: 320, height: 640 },
}
/** As much as a README has room for. */
const clip = { x: 0, y: 0, width: 390, height: 580 }
/** Screens of today show two dots for one. */
const sharp = { deviceScaleFactor: 2 }

export const screenshots = command({
  usage: '[STATE...]',
  about: `
Takes pictures of the page in each STATE (default: every one), light and dark, on a phone and on a
desk, and of each page of the console, into dist/pages. Without STATE, it also takes the pictures
of the README and the docs, light and dark, and a recording of the demo.`,
  words: { least: 0, most: 100 },
  async run({ words: wanted }) {
    mkdirSync('dist/pages', { recursive: true })
    mkdirSync(folder, { recursive: true })
    const scenes = await pageScenes()
    const browser = await startBrowser()
    try {
      for (const colorScheme of themes) {
        for (const [screen, viewport] of Object.entries(screens)) {
          // scripts would count down from the time of the scene
          const page = await browser.newPage({ colorScheme, viewport, javaScriptEnabled: false })
          for (const [name, html] of Object.entries(scenes)) {
            if (wanted.length > 0 && !wanted.includes(name)) continue
            await page.setContent(html)
            const file = `${name.replace(/\W+/g, '-')}-${screen}-${colorScheme}`
            await page.screenshot({ path: `dist/pages/${file}.png`, fullPage: true })
          }
          await page.close()
        }
      }
      if (wanted.length === 0 || wanted.includes('console')) await consolePictures(browser)
      if (wanted.length === 0) {
        for (const colorScheme of themes) await takeShown(browser, scenes[shownPage]!, colorScheme)
        writeFileSync(`${folder}/demo.svg`, await recordDemo())
        writeFileSync(textsFile, `${JSON.stringify(await pictureTexts(), null, 2)}\n`)
      }
    } finally {
      await browser.close()
    }
  },
})

/** Of the page and of a message. */
async function takeShown(browser: Browser, scene: string, colorScheme: 'light' | 'dark') {
  const still = { colorScheme, javaScriptEnabled: false, ...sharp }
  const page = await browser.newPage({ ...still, viewport: { width: 390, height: 844 } })
  await page.setContent(withFont(scene))
  await page.screenshot({ path: `${folder}/page${endingOf(colorScheme)}.png`, clip })
  await page.close()
  const mail = await browser.newPage({ ...still, viewport: { width: 600, height: 200 } })
  await mail.setContent(withFont(await mailPage()))
  await drawHourglass(mail)
  await mail.screenshot({ path: `${folder}/mail${endingOf(colorScheme)}.png`, fullPage: true })
  await mail.close()
  const wide = { width: 560, height: 900 }
  const preview = await browser.newPage({ colorScheme, ...sharp, viewport: wide })
  const pad = `${Object.values(shownMessages).join(', ')} { padding: 1rem; background: var(--card) }`
  await preview.setContent(withFont((await previewPage()).replace('</style>', `${pad}</style>`)))
  await drawHourglass(preview)
  for (const [kind, drawn] of Object.entries(shownMessages)) {
    const message = preview.locator(`#${idOf(shownScene)} [data-kind=${kind}] ${drawn}`).first()
    await message.screenshot({ path: `${folder}/${kind}${endingOf(colorScheme)}.png` })
  }
  await preview.close()
}

/** This Chromium has no emoji. */
async function drawHourglass(page: Page): Promise<void> {
  const drawing =
    '<svg width="14" height="18" viewBox="0 0 14 18" fill="#e8912d"><path d="M1 0h12v3L8.5 9l4.5 6v3H1v-3l4.5-6L1 3z"/></svg>'
  await page.evaluate(`for (const one of document.querySelectorAll('*')) {
    if (one.childElementCount === 0 && !/^(SCRIPT|STYLE|PRE)$/.test(one.tagName) && one.textContent.includes('⏳'))
      one.innerHTML = one.innerHTML.replaceAll('⏳', '${drawing}')
  }`)
}
