// Every state of the page on every screen, and every mail: no sideways scrolling, enough contrast, no small target.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { composeMail } from '../../functions/notify/mail/compose.ts'
import { scenes as messages } from '../notify/scenes.ts'
import { pageScenes } from '../preview/page-scenes.ts'
import { startBrowser } from '../support/browser.ts'

const scenes = await pageScenes()
let browser: Browser

beforeAll(async () => {
  browser = await startBrowser()
}, 60_000)
afterAll(() => browser?.close())

/** WCAG 2.2: AA for text, and the 44 px of AAA for targets. */
const minContrast = 4.5
const minTarget = 44

/** Runs in the page, and returns problems as sentences. */
const faultsWith = (targets: string) => `(() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number)
  const light = (rgb) => {
    const [r, g, b] = rgb.slice(0, 3).map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor)
      if (color.length === 3 || color[3] === 1) return color
    }
    return [255, 255, 255]
  }
  const found = []
  const { scrollWidth, clientWidth } = document.documentElement
  if (scrollWidth > clientWidth) found.push('scrolls sideways: ' + scrollWidth + ' of ' + clientWidth)
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement
    if (!texts.currentNode.textContent.trim() || !node.checkVisibility() || node.tagName === 'SCRIPT') continue
    const [one, other] = [light(parse(getComputedStyle(node).color)), light(ground(node))].sort((a, b) => b - a)
    const contrast = (one + 0.05) / (other + 0.05)
    if (contrast < ${minContrast}) found.push(contrast.toFixed(2) + ': ' + texts.currentNode.textContent.trim().slice(0, 40))
  }
  for (const node of document.querySelectorAll('${targets}')) {
    if (!node.checkVisibility()) continue
    const { width, height } = node.getBoundingClientRect()
    if (Math.min(width, height) < ${minTarget}) found.push(width + ' × ' + height + ': ' + node.textContent)
  }
  return found
})()`

/** Where a line may not begin: behind a blank, the mark would stand alone on the next line. */
const loose = `(() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const found = []
  while (texts.nextNode()) {
    const { textContent, parentElement } = texts.currentNode
    const shown = parentElement.checkVisibility() && !['SCRIPT', 'STYLE'].includes(parentElement.tagName)
    if (shown && /\\s[,.;:!?](\\s|$)/.test(textContent)) found.push(textContent.trim())
  }
  return found
})()`

const looks = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [320, 390, 1280].map((width) => ({ colorScheme, width })),
)

test.each(looks)('$colorScheme, $width px', { timeout: 60_000 }, async ({ colorScheme, width }) => {
  const page = await browser.newPage({ colorScheme, viewport: { width, height: 700 } })
  const found: Record<string, unknown> = {}
  for (const [name, html] of Object.entries(scenes)) {
    await page.setContent(html)
    // Shows what the script would show.
    await page.evaluate(
      "for (const one of document.querySelectorAll('[data-failed], [data-lost], [data-waiting]')) one.hidden = false",
    )
    const wrong = await page.evaluate(faultsWith('button, a, summary'))
    found[name] = [...(wrong as string[]), ...((await page.evaluate(loose)) as string[])]
  }
  expect(found).toEqual(Object.fromEntries(Object.keys(scenes).map((name) => [name, []])))
  await page.close()
})

const mailLooks = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [360, 600].map((width) => ({ colorScheme, width })),
)

test.each(mailLooks)('mails, $colorScheme, $width px', { timeout: 60_000 }, async (look) => {
  const { colorScheme, width } = look
  const page = await browser.newPage({ colorScheme, viewport: { width, height: 700 } })
  const found: Record<string, unknown> = {}
  for (const [name, message] of Object.entries(messages)) {
    await page.setContent(composeMail(message).html)
    found[name] = await page.evaluate(faultsWith('a[style*="background"], td[bgcolor] a'))
  }
  expect(found).toEqual(Object.fromEntries(Object.keys(messages).map((name) => [name, []])))
  await page.close()
})
