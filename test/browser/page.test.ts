// The page in a real browser: with the keyboard, with and without a script. The test controls the
// browser's timers. The browser's clock is years off the relay's, which must not matter.

import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createListToken } from '../../functions/links/link.ts'
import { startBrowser } from '../support/browser.ts'
import { type Pages, pressOnceSaid, servePages } from '../support/pages.ts'
import { forge, press } from '../support/people.ts'
import { event, eventId, type FakeBeacon, startAt, started, type World } from '../support/world.ts'

let browser: Browser
let pages: Pages
let world: World
let beacon: FakeBeacon

beforeAll(async () => {
  browser = await startBrowser()
}, 60_000)
afterAll(() => browser?.close())

beforeEach(async () => {
  pages = await servePages(browser)
  ;({ world, beacon } = pages)
})
afterEach(() => pages.stop())

const open: Pages['open'] = (...of) => pages.open(...of)
const pass: Pages['pass'] = (...of) => pages.pass(...of)

const outline = 'getComputedStyle(document.activeElement).outlineStyle'

const approvals = async () => (await world.getEvent(eventId)).body.approvals
const approve = (page: Page) => page.getByRole('button', { name: 'Restart now' })

describe('with the keyboard alone', () => {
  test.each([
    ['approves with the first key stops', 2, 'Enter', 'approved', 'You approved it.'],
    [
      'declines one stop later',
      3,
      'Space',
      'declined',
      'You left it to Azure. No more reminders come.',
    ],
  ])('%s', async (_, stops, key, decision, said) => {
    const page = await open(await forge(world))
    for (let i = 0; i < stops; i++) await page.keyboard.press('Tab')
    expect(await page.evaluate(outline)).toBe('solid')
    await page.keyboard.press(key)
    const status = page.locator('[data-said]')
    expect(await status.innerText()).toBe(said)
    // A screen reader continues here.
    expect(await page.locator(':focus').innerText()).toBe(await status.innerText())
    expect(await approvals()).toMatchObject([{ decision }])
    expect(pages.complaints).toEqual([])
  })
})

describe('an open page', () => {
  test('it counts down by the clock of the relay', async () => {
    const page = await open(await forge(world))
    await page.route('**/approve/*', (route) => route.abort())
    const left = page.getByRole('timer')
    expect(await left.innerText()).toMatch(/^15 min 0 s\s+until Azure starts it$/)
    await pass(page, 61_000)
    // on a slow machine, real seconds pass, too
    await expect.poll(() => left.innerText()).toMatch(/^13 min \d+ s/)
    await pass(page, 13 * 60_000)
    await expect.poll(() => left.innerText()).toMatch(/^\d+ s/)
    await pass(page, 60_000)
    await expect.poll(() => left.isVisible()).toBe(false)
  })

  test('it takes the time from the relay again, for a machine that slept', async () => {
    const page = await open(await forge(world))
    world.clock.now += 10 * 60_000
    await page.clock.fastForward(5_000)
    await expect.poll(() => page.getByRole('timer').innerText()).toMatch(/^5 min 0 s/)
  })

  test('somebody else decides: it says so, and the buttons are gone', async () => {
    const page = await open(await forge(world))
    await approve(page).focus()
    await press(world, await forge(world, { channel: 'team' }), 'approve')
    await pass(page, 5_000)
    await page.getByText('through the link sent to "team"').first().waitFor()
    expect(await page.getByRole('button').count()).toBe(0)
    // a screen reader is told, and goes on here
    expect(await page.locator('[data-news]').innerText()).toBe('Approved')
    expect(await page.locator(':focus').getAttribute('data-page')).toBe('')
    expect(await page.locator('.timeline').innerText()).toContain(
      'Approved through the link sent to "team"',
    )
    await beacon.sees([started()])
    await pass(page, 5_000)
    await page.getByRole('article').getByText('It started 5 s ago.').waitFor()
  })

  test('its buttons never decide about something else by themselves: it offers the new state', async () => {
    const page = await open(await forge(world))
    const place = await approve(page).boundingBox()
    await beacon.sees([event({ resources: ['web_0', 'web_1'], notBeforeAt: startAt + 600_000 })])
    await pass(page, 5_000)
    const offer = page.getByRole('button', { name: 'Show the new state' })
    await offer.waitFor()
    await pass(page, 60_000)
    expect(await approve(page).boundingBox()).toEqual(place)
    await approve(page).click()
    await page.getByText('after you opened this page, the event changed').waitFor()
    expect(await approvals()).toEqual([])
    await page.getByRole('heading', { name: 'Reboot of web_0, web_1' }).waitFor()
    expect(await offer.isVisible()).toBe(false)
  })

  test('nor in two steps, by a decision that expires', async () => {
    const page = await open(await forge(world))
    await press(world, await forge(world, { channel: 'team' }), 'approve')
    await pass(page, 5_000)
    await page.getByText('Foghorn is sending the approval to Azure.').waitFor()
    await beacon.sees([event({ resources: ['web_0', 'web_1'] })])
    await pass(page, 5_000)
    await page.getByRole('button', { name: 'Show the new state' }).waitFor()
    expect(await page.locator('main button').count()).toBe(0)
  })

  test('its sentences stand in lines of their own', async () => {
    const page = await open(await forge(world))
    const style = "getComputedStyle(document.querySelector('.lines')).whiteSpace"
    expect(await page.evaluate(style)).toBe('pre-line')
  })

  test('it moves nothing while a pointer is used, and offers the new state', async () => {
    const page = await open(await forge(world))
    await approve(page).hover()
    await press(world, await forge(world, { channel: 'team' }), 'not_now')
    await pass(page, 5_000)
    const offer = page.getByRole('button', { name: 'Show the new state' })
    await offer.waitFor()
    expect(await page.getByRole('button', { name: 'Let Azure' }).isVisible()).toBe(true)
    await offer.click()
    await page.getByText('Restart it after all').waitFor()
  })

  test('it shows how hooks go on, and the buttons that decide stay', async () => {
    await beacon.runs([event()], 'planned')
    const page = await open(await forge(world))
    const prepare = page.getByRole('button', { name: 'Prepare now' })
    const warning = page.locator('.unready')
    expect(await prepare.isVisible()).toBe(true)
    expect(await warning.innerText()).toContain('web_0 is not ready')
    await beacon.runs([event()], 'running')
    await pass(page, 5_000)
    await page.getByText('web_0 is preparing.').waitFor()
    expect(await prepare.isVisible()).toBe(false)
    expect(await warning.isVisible()).toBe(true)
    await beacon.runs([event()], 'succeeded')
    await pass(page, 5_000)
    await page.getByText('web_0 is ready.').waitFor()
    expect(await warning.isVisible()).toBe(false)
    expect(await approve(page).isVisible()).toBe(true)
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  test('a press does not count while the page moves', async () => {
    const page = await open(await forge(world))
    await press(world, await forge(world, { channel: 'team' }), 'not_now')
    const pressed = pressOnceSaid(page, 'Left to Azure through')
    await pass(page, 5_000)
    await pressed
    await page.waitForLoadState('networkidle')
    expect(await approvals()).toHaveLength(1)
    await pass(page, 2_000)
    await page.getByText('Restart it after all').click()
    await approve(page).click()
    await page.getByText('You approved it.').waitFor()
    expect(await approvals()).toHaveLength(2)
  })

  test('it polls while it is visible, less often if the relay does not answer, and not after the end', async () => {
    const page = await open(await forge(world))
    let asked = 0
    page.on('request', (request) => {
      if (request.resourceType() === 'fetch') asked += 1
    })
    await page.route('**/approve/*', (route) => route.abort())
    const step = async () => {
      const before = asked
      await pass(page, 5_000)
      // Wait until the last request has failed.
      if (asked > before) await page.evaluate('new Promise((done) => queueMicrotask(done))')
    }
    for (let i = 0; i < 24; i++) await step()
    expect(asked).toBeGreaterThanOrEqual(2)
    expect(asked).toBeLessThanOrEqual(6)
    await page.getByText('The relay does not answer').waitFor()
    await page.unroute('**/approve/*')
    await beacon.sees([event()])
    await beacon.sees([])
    await world.pass(10_001)
    await pass(page, 60_000)
    await page.getByRole('article').getByText('It was probably cancelled').waitFor()
    expect(await page.getByText('The relay does not answer').isVisible()).toBe(false)
    const before = asked
    await pass(page, 300_000)
    expect(asked).toBe(before)
  })

  test('it does not poll while it is hidden', async () => {
    const page = await browser.newPage()
    await page.clock.install({ time: 0 })
    await page.addInitScript("Object.defineProperty(document, 'hidden', { get: () => true })")
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.resourceType()))
    await page.goto(pages.origin + (await forge(world)))
    await page.clock.fastForward(60_000)
    expect(asked.filter((type) => type === 'fetch')).toEqual([])
  })
})

test('it also decides without JavaScript', async () => {
  const page = await open(await forge(world), { javaScriptEnabled: false })
  expect(await page.getByRole('timer').innerText()).toMatch(/^15 min\s+until Azure starts it$/)
  await approve(page).click()
  await page.getByText('You approved it.').waitFor()
  expect(await page.getByRole('button').count()).toBe(0)
  expect(await approvals()).toMatchObject([{ decision: 'approved', how: 'link', who: 'chat' }])
})

test('a list: a decision returns to its place, and the others are still open', async () => {
  await beacon.sees([event(), event({ eventId: 'second', resources: ['web_9'] })])
  const events = [eventId, 'second'].map((id) => ({ fleet: 'prod', eventId: id }))
  const list = { channel: 'chat', issuedAt: startAt, events }
  const page = await open(
    `/approve/${await createListToken(world.relay.credentials.linkKeys, list)}`,
  )
  await page.getByRole('article').nth(1).getByRole('button', { name: 'Let Azure' }).click()
  await page.getByRole('heading', { name: '2 events, 1 to decide, 1 left to Azure' }).waitFor()
  const second = page.getByRole('article').nth(1)
  expect(await second.getByRole('status').innerText()).toContain('You left it to Azure.')
  expect(await second.getByRole('status').isVisible()).toBe(true)
  await press(world, await forge(world), 'approve')
  // the pointer rests where it pressed
  await pass(page, 21_000)
  await page.getByText('Foghorn is sending the approval to Azure.').waitFor()
  expect(await page.locator('main button').count()).toBe(1)
  expect(pages.complaints).toEqual([])
})
