// A thumb on a phone: the effect of a second tap, buttons that stay in place, a relay that is down.
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createListToken } from '../../functions/links/link.ts'
import { startBrowser } from '../support/browser.ts'
import { type Pages, pressOnceSaid, servePages } from '../support/pages.ts'
import { forge, press } from '../support/people.ts'
import { someOf } from '../support/whole.ts'
import { event, eventId, startAt } from '../support/world.ts'

let browser: Browser
let pages: Pages

beforeAll(async () => {
  browser = await startBrowser()
}, 60_000)
afterAll(() => browser?.close())
beforeEach(async () => {
  pages = await servePages(browser)
})
afterEach(() => pages.stop())

const approvals = async (id = eventId) => (await pages.world.getEvent(id)).body.approvals
const said = (page: Page) => page.locator('[data-said]')
const button = (page: Page, name: string) => page.getByRole('button', { name })

/** The place of a tap. */
async function centreOf(target: Locator): Promise<[number, number]> {
  await target.scrollIntoViewIfNeeded()
  const { x, y, width, height } = (await target.boundingBox())!
  return [x + width / 2, y + height / 2]
}

/** Taps twice at one place, 300 ms apart, after the answer to the first tap has arrived. */
async function tapTwice(page: Page, target: Locator, script: boolean): Promise<void> {
  const at = await centreOf(target)
  await page.touchscreen.tap(...at)
  await said(page).waitFor()
  if (script) await pages.pass(page, 300)
  else pages.world.clock.now += 300
  await page.touchscreen.tap(...at)
  // Wait for the answer to the second tap.
  await page.waitForLoadState('networkidle')
}

const widths = [320, 360, 390, 412, 430]
const phones = [
  ...widths.map((width) => ({ width, script: true })),
  ...[320, 430].map((width) => ({ width, script: false })),
]

describe.each(someOf(phones))('$width px, with a script: $script', ({ width, script }) => {
  const viewport = { width, height: 780 }
  const options = { viewport, hasTouch: true, javaScriptEnabled: script }

  test('a second tap on "Not now" approves nothing, and there is no button of its colour', async () => {
    const page = await pages.open(await forge(pages.world), options)
    await tapTwice(page, button(page, 'Let Azure'), script)
    expect(await approvals()).toMatchObject([{ decision: 'declined' }])
    await page.locator('summary', { hasText: 'Restart it after all' }).waitFor()
    expect(await page.locator('button.go').count()).toBe(0)
  })
})

test.each([true, false])(
  'nor does one on a list, whatever stands there then, script: %s',
  async (script) => {
    const options = {
      viewport: { width: 390, height: 780 },
      hasTouch: true,
      javaScriptEnabled: script,
    }
    await pages.beacon.sees([event(), event({ eventId: 'second', resources: ['web_9'] })])
    const events = [eventId, 'second'].map((id) => ({ fleet: 'prod', eventId: id }))
    const list = { channel: 'chat', issuedAt: startAt, events }
    const token = await createListToken(pages.world.relay.credentials.linkKeys, list)
    for (const [place, id] of [eventId, 'second'].entries()) {
      const page = await pages.open(`/approve/${token}`, options)
      const item = page.getByRole('article').nth(place)
      await tapTwice(page, item.getByRole('button', { name: 'Let Azure' }), script)
      await page.locator('h1').waitFor()
      expect(await approvals(id)).toMatchObject([{ decision: 'declined' }])
      expect(await approvals(id)).toHaveLength(1)
      pages.world.clock.now += 5_000
      await page.close()
    }
  },
)

describe('after "Not now"', () => {
  test.each([true, false])(
    'a press in the next second does not count, script: %s',
    async (script) => {
      const page = await pages.open(await forge(pages.world), { javaScriptEnabled: script })
      await button(page, 'Let Azure').click()
      await page.getByText('Restart it after all').click()
      if (script) await pages.pass(page, 1_000)
      else pages.world.clock.now += 1_000
      await button(page, 'Restart now').click()
      await page.getByText('the page had just changed').waitFor()
      expect(await approvals()).toHaveLength(1)
      await page.getByText('Restart it after all').click()
      if (script) await pages.pass(page, 1_500)
      else pages.world.clock.now += 1_500
      await button(page, 'Restart now').click()
      await page.getByText('You approved it.').waitFor()
      expect(await approvals()).toMatchObject([{}, { decision: 'approved' }])
    },
  )

  test('somebody else approves: the page does not say that this person did', async () => {
    const page = await pages.open(await forge(pages.world))
    await button(page, 'Let Azure').click()
    expect(await said(page).innerText()).toContain('You left it to Azure.')
    await press(pages.world, await forge(pages.world, { channel: 'team' }), 'approve')
    // the pointer rests where it pressed
    await pages.pass(page, 21_000)
    await page.getByText('Approved through the link sent to "team"').first().waitFor()
    expect(await said(page).count()).toBe(0)
    expect(await page.locator('dl').innerText()).toMatch(
      /Earlier decision\s+Left to Azure through the link/,
    )
  })
})

test('a double tap on a link of our own page reaches no button of the next', async () => {
  const list = { channel: 'chat', issuedAt: startAt, events: [{ fleet: 'prod', eventId }] }
  const token = await createListToken(pages.world.relay.credentials.linkKeys, list)
  const page = await pages.open(`/approve/${token}`, { javaScriptEnabled: false })
  await page.getByRole('link', { name: 'Show event' }).click()
  await button(page, 'Restart now').click()
  await page.getByText('the page had just changed').waitFor()
  expect(await approvals()).toEqual([])
})

describe('somebody else decides while the page is open', () => {
  test('if the page has to move, a press at that moment does not count', async () => {
    const page = await pages.open(await forge(pages.world), {
      viewport: { width: 390, height: 3_000 },
    })
    await press(pages.world, await forge(pages.world, { channel: 'team' }), 'not_now')
    const pressed = pressOnceSaid(page, 'Left to Azure through')
    await pages.pass(page, 5_000)
    await pressed
    await page.waitForLoadState('networkidle')
    expect(await approvals()).toHaveLength(1)
  })
})

describe('the relay is away', () => {
  test('the page stays, says that nothing was sent, and sends it when it is pressed again', async () => {
    const page = await pages.open(await forge(pages.world))
    await page.route('**/approve/*', (route) => route.abort())
    await button(page, 'Restart now').click()
    const alert = page.getByRole('alert')
    expect(await alert.innerText()).toBe(
      'The relay did not answer. It may have stored your decision. Once it answers, this page shows that.',
    )
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Reboot of web_0')
    await page.unroute('**/approve/*')
    await pages.pass(page, 1_000)
    await button(page, 'Restart now').click()
    await page.getByText('You approved it.').waitFor()
    expect(await approvals()).toHaveLength(1)
  })

  test.each([
    [429, 'Nothing was decided: too many requests. Try again in a few seconds.'],
    [
      502,
      'The relay did not answer. It may have stored your decision. Once it answers, this page shows that.',
    ],
  ])('an answer %s of a proxy does not replace the page', async (status, words) => {
    const page = await pages.open(await forge(pages.world))
    await page.route('**/approve/*', (route) => route.fulfill({ status, body: '<main>Oh</main>' }))
    await button(page, 'Restart now').click()
    expect(await page.getByRole('alert').innerText()).toBe(words)
    expect(await button(page, 'Restart now').isVisible()).toBe(true)
  })

  test('the bar that warns about it covers nothing', async () => {
    const page = await pages.open(await forge(pages.world), {
      viewport: { width: 320, height: 900 },
    })
    await page.route('**/approve/*', (route) => route.abort())
    const bar = page.locator('[data-lost]')
    await expect
      .poll(async () => {
        await pages.pass(page, 20_000)
        return bar.isVisible()
      })
      .toBe(true)
    const { y, height } = (await bar.boundingBox())!
    expect((await page.locator('h1').boundingBox())!.y).toBeGreaterThanOrEqual(y + height)
  })
})

test("times are also the reader's own, and each stays on one line", async () => {
  const at = { timezoneId: 'Asia/Kolkata', viewport: { width: 320, height: 700 } }
  const page = await pages.open(await forge(pages.world), at)
  const lines = page.locator('.lines')
  const shown = 'Azure will restart web_0 at 17:45 (12:15 UTC) or soon after.'
  expect((await lines.innerText()).replace(/\s+/g, ' ')).toBe(shown)
  expect(await page.locator('.timeline').innerText()).toContain('17:30:00 (12:00:00 UTC)')
  await pages.beacon.sees([event({ notBeforeAt: startAt + 8 * 3_600_000 })])
  await pages.pass(page, 5_000)
  await button(page, 'Show the new state').click()
  await expect.poll(() => lines.innerText()).toContain('2026-11-22 01:30 (20:00 UTC)')
  const heights =
    'Array.from(document.querySelectorAll(".t"), (one) => one.getClientRects().length)'
  expect(new Set((await page.evaluate(heights)) as number[])).toEqual(new Set([1]))
})
