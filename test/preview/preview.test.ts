// The page shows everything that there is to tell, and the library draws each card in a real browser
// without a complaint, in both themes, with nothing from elsewhere.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { moments } from '../../functions/core/event/moment.ts'
import { scenes } from '../notify/scenes.ts'
import { startBrowser } from '../support/browser.ts'
import { idOf, kindsIn, previewPage } from './page.ts'

let text: string
let browser: Browser

beforeAll(async () => {
  text = await previewPage()
  browser = await startBrowser()
})

afterAll(() => browser?.close())

test('every scene has a place of its own, and every moment is a scene', () => {
  const ids = Object.keys(scenes).map(idOf)
  expect(new Set(ids).size).toBe(ids.length)
  expect(Object.keys(scenes)).toEqual(expect.arrayContaining([...moments]))
})

/** What a bot does with a step: first it posts, then it edits what stands there and replies to it. */
async function captionsOf(name: string): Promise<string[]> {
  const { chatMessage, delivery } = scenes[name]!
  const { moment } = delivery.notification
  if (moment === 'alert' || (await chatMessage.read()) === undefined) return ['new message']
  const calls = ['changed', 'not_ready', 'reminder', 'stuck', 'lost'].includes(moment)
  return ['edited message', `reply in its thread${calls ? ', and in the channel' : ''}`]
}

describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
  test('every kind and scene is drawn, offline and without a complaint', {
    timeout: 60_000,
  }, async () => {
    const page = await browser.newPage({ colorScheme, offline: true })
    const wrong: string[] = []
    page.on('pageerror', (error) => wrong.push(error.message))
    page.on('request', ({ url }) => wrong.push(`asks for ${url()}`))
    await page.setContent(text)
    const root = page.locator('html')
    expect(await root.getAttribute('data-theme')).toBe(colorScheme)
    expect(await root.getAttribute('data-faults')).toBe('[]')
    expect(wrong).toEqual([])
    for (const [name, { message, also, delivery }] of Object.entries(scenes)) {
      const scene = page.locator(`#${idOf(name)}`)
      const shown = await scene
        .locator('.kind')
        .evaluateAll((all) =>
          all.map((one) => (one as unknown as { dataset: { kind: string } }).dataset.kind),
        )
      expect(shown).toEqual(kindsIn(name))
      const card = await scene.locator('[data-kind=teams] .ac-adaptiveCard').innerText()
      const slack = await scene.locator('.slack').allInnerTexts()
      const { decided } = delivery.notification.event
      const id = decided?.how === 'slack' ? decided.who.split('/')[1] : 'nobody'
      for (const said of [card, ...slack]) {
        // what cannot change counts down to nothing
        const titles = [message.title, message.lastingTitle].map((title) => title.slice(0, 80))
        const text = said.replaceAll('∶', ':')
        expect(titles.filter((title) => text.includes(title))).not.toEqual([])
        expect(said).not.toMatch(/\\|a link or a mention|an emoji/)
        if (also.length === 0) {
          expect(said.replaceAll(`@${id}`, `Slack user ${id}`)).toContain(message.brief.at(-1))
        }
      }
      if (kindsIn(name).includes('slack_bot')) {
        const steps = scene.locator('[data-kind=slack_bot] .caption')
        expect(await steps.allInnerTexts()).toEqual(await captionsOf(name))
      }
    }
    await page.close()
  })
})
