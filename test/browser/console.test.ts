// The console in a real browser: every page with and without a script, checked by the rules of axe, and
// how an open page behaves under a pointer.
import type { AddressInfo } from 'node:net'
import { type ServerType, serve } from '@hono/node-server'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { consolePaths } from '../features/console.ts'
import { consoleWorld } from '../preview/console-world.ts'
import { violationsOn } from '../support/axe.ts'
import { startBrowser } from '../support/browser.ts'
import { has } from '../support/features.ts'
import { askApi } from '../support/tokens.ts'
import { isWhole } from '../support/whole.ts'
import { adminKey, createWorld, event, FakeBeacon, type World } from '../support/world.ts'

const patience = 180_000

let browser: Browser
let server: ServerType | undefined

beforeAll(async () => {
  browser = await startBrowser()
}, 60_000)
afterEach(async () => {
  for (const context of browser.contexts()) await context.close()
  if (server !== undefined && 'closeAllConnections' in server) server.closeAllConnections()
  server?.close()
})
afterAll(() => browser?.close())

async function open(world: World): Promise<string> {
  await new Promise<void>((resolve) => {
    server = serve({ fetch: world.app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve())
  })
  return `http://127.0.0.1:${(server!.address() as AddressInfo).port}/console`
}

async function signIn(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Admin key or token').fill(adminKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { level: 1 }).waitFor()
}

/** Buttons and states of cells of which a word is broken across lines, or does not fit. */
const broken = `const textsIn = (node) => {
  const texts = []
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest('.away')) texts.push(walker.currentNode)
  return texts
}
const isBroken = (text) =>
  [...text.data.matchAll(/[^\\s-]+-?/g)].some(({ index, 0: word }) => {
    const range = document.createRange()
    range.setStart(text, index)
    range.setEnd(text, index + word.length)
    return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1
  });
[...document.querySelectorAll('td button, td .badge, td .mark, .act button, .act summary')]
  .filter((node) => node.offsetHeight > 0)
  .filter((node) => node.scrollWidth > node.clientWidth + 2 || textsIn(node).some(isBroken))
  .map((node) => node.textContent.trim())`

const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

describe('every page', () => {
  const looks = [
    { width: 390, colorScheme: 'light', javaScriptEnabled: true },
    { width: 1280, colorScheme: 'dark', javaScriptEnabled: true },
    { width: 1920, colorScheme: 'light', javaScriptEnabled: false },
    { width: 390, colorScheme: 'dark', javaScriptEnabled: false },
    { width: 390, colorScheme: 'dark', javaScriptEnabled: true },
    { width: 1024, colorScheme: 'light', javaScriptEnabled: true },
    { width: 1024, colorScheme: 'dark', javaScriptEnabled: true },
    { width: 1920, colorScheme: 'light', javaScriptEnabled: true },
    { width: 1920, colorScheme: 'dark', javaScriptEnabled: true },
  ] as const

  test.each(isWhole ? looks : looks.slice(0, 2))(
    '$width px, $colorScheme, script: $javaScriptEnabled',
    { timeout: patience },
    async (look) => {
      const { width, ...more } = look
      const world = await consoleWorld({ events: 12, further: 6 })
      const url = await open(world)
      const page = await browser.newPage({ viewport: { width, height: 900 }, ...more })
      const complaints: string[] = []
      page.on('console', (message) => {
        // hints of the browser, such as those about a slow machine, are of other types
        const [type, text] = [message.type(), message.text()]
        if (['error', 'warning'].includes(type)) complaints.push(`${type}: ${text}`)
      })
      page.on('pageerror', (error) => complaints.push(error.message))
      // axe is a script, and the page is the same without one
      const check = look.javaScriptEnabled ? violationsOn : async () => []
      await page.goto(url)
      expect(await check(page)).toEqual([])
      await signIn(page, url)
      const [event] = await world.store.listOpen(['prod'], 1)
      const [subscription] = await world.store.listSmallRows('subscription')
      const tabs = await page
        .locator('.tabs a')
        .evaluateAll((all) => all.map((a) => a.getAttribute('href')!))
      const others = [
        `/console/events/${event!.fleet}/${event!.eventId}`,
        '/console/events?q=web&type=Reboot',
        '/console/channels/on-call',
        '/console/channels/on-call?resend=1',
        '/console?wall',
        '/console?q=edge&fleet=prod',
        '/console/upcoming?q=edge',
        ...Object.values(consolePaths).map((path) => `/console${path}`),
        `/console/subscriptions/${(subscription as unknown as { id: string }).id}`,
        '/console/events/prod/none',
      ]
      const found: Record<string, string[]> = {}
      for (const path of [...tabs, ...others]) {
        const response = await page.goto(new URL(path, url).href)
        expect([path, response?.status()]).toEqual([path, path.endsWith('none') ? 404 : 200])
        expect([path, await page.evaluate(overflow)]).toEqual([path, 0])
        expect([path, await page.evaluate(broken)]).toEqual([path, []])
        const violations = await check(page)
        if (violations.length > 0) found[path] = violations
      }
      expect(found).toEqual({})
      // the answer that there is no such event is the only complaint
      expect(complaints.filter((text) => !text.includes('404'))).toEqual([])
      expect(tabs).toHaveLength(6)
      world.store.close()
    },
  )
})

describe('an open page', () => {
  let world: World
  let beacon: FakeBeacon

  async function start(): Promise<Page> {
    world = await createWorld({ config: { publicUrl: 'http://127.0.0.1:7071' } })
    beacon = new FakeBeacon(world, 'web_0')
    await beacon.sees([event()])
    await world.drain()
    const url = await open(world)
    const page = await browser.newPage({ timezoneId: 'Europe/Berlin' })
    await page.clock.install({ time: 0 })
    await signIn(page, url)
    return page
  }

  async function pass(page: Page, ms: number): Promise<void> {
    world.clock.now += ms
    await page.clock.fastForward(ms)
  }

  const second = event({
    eventId: 'second',
    resources: ['web_1'],
    notBeforeAt: event().notBeforeAt! - 60_000,
  })
  const cards = (page: Page) => page.locator('article.row')

  test('it shows new events, the time left and the local time by itself', {
    timeout: patience,
  }, async () => {
    const page = await start()
    expect(await page.getByText('13:15', { exact: true }).count()).toBeGreaterThan(0)
    expect(await page.getByTitle('12:15 UTC').count()).toBeGreaterThan(0)
    await page.getByRole('button', { name: 'Times: local' }).click()
    await page.getByText('12:15 UTC', { exact: true }).first().waitFor()
    await beacon.sees([event(), second])
    await pass(page, 5_000)
    await expect.poll(() => cards(page).count()).toBe(2)
    expect(await page.title()).toContain('(2)')
    await expect
      .poll(() => page.locator('[data-left]').first().innerText())
      .toMatch(/^13 min 5\d s/)
  })

  // in Kolkata, midnight is at 18:30 UTC
  test('the picture of the next days has its marks at the reader’s midnights', {
    timeout: patience,
  }, async () => {
    await beacon.sees([event()])
    await world.drain()
    const page = await browser.newPage({ timezoneId: 'Asia/Kolkata' })
    const url = await open(world)
    await page.clock.install({ time: 0 })
    await signIn(page, url)
    await page.goto(`${url}/upcoming?hours=72`)
    const marks = page.locator('.axis text.grid:visible')
    const read = () =>
      marks.evaluateAll((all) => all.map((one) => [one.textContent, one.getAttribute('x')]))
    const hours = (count: number) => `${Number(((count * 100) / 84).toFixed(2)).toFixed(2)}%`
    // the picture begins at noon by UTC, and spans seven times half a day
    expect((await read()).slice(0, 3)).toEqual([
      ['Sun 22', hours(6.5)],
      ['12:00', hours(18.5)],
      ['Mon 23', hours(30.5)],
    ])
    await page.getByRole('button', { name: 'Times: local' }).click()
    expect((await read()).slice(0, 3)).toEqual([
      ['12:00', hours(0)],
      ['Sun 22', hours(12)],
      ['12:00', hours(24)],
    ])
    await page.close()
  })

  test('it moves nothing under a pointer, and offers the new state', {
    timeout: patience,
  }, async () => {
    const page = await start()
    await page.getByRole('button', { name: 'Let Azure' }).hover()
    await beacon.sees([event(), second])
    await pass(page, 5_000)
    const offer = page.getByRole('button', { name: 'Show the new state' })
    await offer.waitFor()
    expect(await cards(page).count()).toBe(1)
    await offer.click()
    await expect.poll(() => cards(page).count()).toBe(2)
    expect(await offer.isVisible()).toBe(false)
  })

  test('a pointer that rests does not stop a wall screen', { timeout: patience }, async () => {
    const page = await start()
    await page.getByRole('button', { name: 'Let Azure' }).hover()
    await beacon.sees([event(), second])
    await pass(page, 5_000)
    await page.getByRole('button', { name: 'Show the new state' }).waitFor()
    await pass(page, 20_000)
    await expect.poll(() => cards(page).count()).toBe(2)
  })

  test('it decides without leaving the page, by keyboard', { timeout: patience }, async () => {
    const page = await start()
    await page.locator('.act summary').focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.type('night shift')
    // no key decides in a text field
    await page.keyboard.press('Enter')
    expect((await world.getEvent(event().eventId)).body.approvals).toEqual([])
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    const said = page.locator('[data-said]')
    await said.waitFor()
    expect(await said.innerText()).toBe('You approved it.')
    expect(await page.locator(':focus').innerText()).toBe(await said.innerText())
    expect((await world.getEvent(event().eventId)).body.approvals).toMatchObject([
      { how: 'admin', reason: 'night shift' },
    ])
  })

  test.each([390, 1024, 1920])(
    'at %i px, its second step moves no button under a finger',
    {
      timeout: patience,
    },
    async (width) => {
      const page = await start()
      await page.setViewportSize({ width, height: 900 })
      const summary = page.locator('.act summary')
      const before = await summary.boundingBox()
      const middle = [before!.x + before!.width / 2, before!.y + before!.height / 2] as const
      await page.mouse.click(...middle)
      expect(await summary.boundingBox()).toEqual(before)
      await page.getByText('Restart web_0 (prod)?').waitFor()
      await page.mouse.click(...middle)
      await page.mouse.click(...middle)
      expect((await world.getEvent(event().eventId)).body.approvals).toEqual([])
    },
  )

  test('Cancel folds the second step', { timeout: patience }, async () => {
    const page = await start()
    const summary = page.locator('.act summary')
    await summary.click()
    await page.getByRole('link', { name: 'Cancel' }).click()
    await page.getByText('Restart web_0 (prod)?').waitFor({ state: 'hidden' })
    expect(await page.locator(':focus').innerText()).toBe(await summary.innerText())
    expect((await world.getEvent(event().eventId)).body.approvals).toEqual([])
  })

  test.each(['Escape', 'a press beside it'])(
    '%s folds the second step, and does nothing else',
    {
      timeout: patience,
    },
    async (way) => {
      const page = await start()
      await page.locator('.act summary').click()
      const step = page.getByText('Restart web_0 (prod)?')
      await step.waitFor()
      if (way === 'Escape') await page.keyboard.press('Escape')
      // the button that leaves it to Azure is under the shadow
      else await page.locator('.act button[value=not_now]').click()
      await step.waitFor({ state: 'hidden' })
      expect((await world.getEvent(event().eventId)).body.approvals).toEqual([])
    },
  )

  test('a wall shows as many lines as fit, and the others in turn', {
    timeout: patience,
  }, async () => {
    const page = await start()
    const names = [...Array(5).keys()].map((i) => `cold_${i}`)
    await beacon.sees([
      event(),
      ...names.map((name) => event({ eventId: name, resources: [name] })),
    ])
    world.clock.now += 5_000
    await page.setViewportSize({ width: 1280, height: 480 })
    await page.goto(`${page.url()}?wall`)
    const shown = () => page.locator('[data-pages] li:visible').allInnerTexts()
    const seen = new Set<string>()
    // an answer of the relay may set the page's clock back by a second, so a part may come twice
    for (let turn = 0; turn < 24 && seen.size < 6; turn++) {
      await page.clock.runFor(1_000)
      const lines = await shown()
      expect(lines.length).toBeLessThan(6)
      for (const line of lines) seen.add(/web_0|cold_\d/.exec(line)![0])
      await pass(page, 15_000)
    }
    expect([...seen].sort()).toEqual([...names, 'web_0'])
    await page.setViewportSize({ width: 1280, height: 1_400 })
    await page.clock.runFor(1_000)
    expect(await shown()).toHaveLength(6)
  })

  test('keys go to the filter and from row to row, and decide nothing', {
    timeout: patience,
  }, async () => {
    const page = await start()
    const names = [...Array(5).keys()].map((i) => `cold_${i}`)
    const all = names.map((name) => event({ eventId: name, resources: [name] }))
    await beacon.sees([event(), second, ...all])
    world.clock.now += 5_000
    await page.reload()
    const focused = () => page.locator(':focus')
    await page.keyboard.press('j')
    expect(await focused().innerText()).toBe('web_1')
    await page.keyboard.press('j')
    const next = await focused().innerText()
    await page.keyboard.press('k')
    expect(await focused().innerText()).toBe('web_1')
    expect(next).not.toBe('web_1')
    await page.keyboard.press('/')
    await page.keyboard.type('cold_3')
    await page.keyboard.press('Enter')
    await expect.poll(() => cards(page).count()).toBe(1)
    expect((await world.getEvent(event().eventId)).body.approvals).toEqual([])
  })

  test('it says that the relay does not answer, and when the session is over', {
    timeout: patience,
  }, async () => {
    const page = await start()
    await page.route('**/console', (route) => route.abort())
    for (let i = 0; i < 3; i++) await pass(page, 60_000)
    await page.getByText('The relay does not answer').waitFor()
    await page.unroute('**/console')
    world.clock.now += 9 * 3_600_000
    // the last request may still fail, and the page sets its timer only then
    const isSignedOut = async () => {
      await page.clock.fastForward(60_000)
      return page.getByText('You are signed out').isVisible()
    }
    await expect.poll(isSignedOut, { timeout: 20_000, interval: 200 }).toBe(true)
  })
})

test('on A4, pages are tables in dark ink, with their time and without buttons', {
  timeout: patience,
}, async () => {
  const url = await open(await consoleWorld({ events: 12 }))
  const page = await browser.newPage({
    viewport: { width: 718, height: 1046 },
    colorScheme: 'dark',
  })
  await signIn(page, url)
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  const own = ['', '/upcoming', '/events', '/beacons', '/channels']
  for (const path of [...own, ...Object.values(consolePaths)]) {
    await page.goto(url + path)
    expect([path, await page.evaluate(overflow)]).toEqual([path, 0])
    expect(await page.locator('button:visible, nav:visible').count()).toBe(0)
    const ink = await page.evaluate('getComputedStyle(document.body).color')
    expect([path, ink]).toEqual([path, 'rgb(0, 0, 0)'])
    const heads = page.locator('thead th')
    for (const head of await heads.all())
      expect((await head.boundingBox())!.x).toBeGreaterThanOrEqual(0)
  }
  const at = "getComputedStyle(document.querySelector('main'), '::before').content"
  expect(await page.evaluate(at)).toContain('As of ')
})

test('a folded group is printed whole', { timeout: patience }, async () => {
  const world = await createWorld({ config: { publicUrl: 'http://127.0.0.1:7071' } })
  for (let i = 0; i < 6; i++) {
    const own = event({ eventId: `edge-${i}`, resources: [`edge_${i}`] })
    await new FakeBeacon(world, `edge_${i}`, { vm: { scaleSet: 'edge' } }).sees([own])
  }
  const url = await open(world)
  const page = await browser.newPage()
  await signIn(page, url)
  const rows = page.locator('.fold .row h3')
  expect(await rows.first().isVisible()).toBe(false)
  await page.emulateMedia({ media: 'print' })
  for (const row of await rows.all()) expect(await row.isVisible()).toBe(true)
})

test('without a script: sign in, decide, sign out', { timeout: patience }, async () => {
  const world = await createWorld({ config: { publicUrl: 'http://127.0.0.1:7071' } })
  const names = Array.from({ length: 40 }, (_, i) => `a-vm-with-a-long-name-${i}`)
  await new FakeBeacon(world, names[0]!).sees([event({ resources: names })])
  await world.drain()
  const url = await open(world)
  const page = await browser.newPage({
    viewport: { width: 360, height: 740 },
    javaScriptEnabled: false,
  })
  await page.goto(`${url}/events?step=all`)
  const key = page.getByLabel('Admin key or token')
  await key.fill('wrong')
  await key.press('Enter')
  await page.getByRole('alert').waitFor()
  await key.fill(adminKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Reboot of' }).click()
  await page.getByRole('heading', { name: 'Seen by' }).waitFor()
  expect(await page.evaluate(overflow)).toBe(0)
  await page.getByRole('button', { name: 'Let Azure' }).click()
  await page.getByText('You left it to Azure.').waitFor()
  const kept = async (name: string) =>
    (await page.context().cookies()).filter((cookie) => cookie.name === name)
  expect(await kept('foghorn-admin')).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }])
  expect(await kept('foghorn-form')).toMatchObject([{ httpOnly: true, sameSite: 'Lax' }])
  await page.getByRole('button', { name: 'Sign out' }).click()
  await key.waitFor()
  expect(await kept('foghorn-admin')).toEqual([])
  world.store.close()
})

test('under load, the first decision stands in the first screen, and no button is below another', {
  timeout: 2 * patience,
}, async () => {
  const world = await consoleWorld({ events: 12, further: 50 })
  if (has('mutes')) {
    const body = { fleet: 'batch', minutes: 60 }
    await askApi(world, adminKey, '/v1/mutes', { method: 'POST', body })
  }
  const url = await open(world)
  const page = await browser.newPage()
  await page.setViewportSize({ width: 1024, height: 768 })
  await signIn(page, url)
  for (const [width, height] of [
    [390, 844],
    [1024, 768],
    [1920, 1080],
  ] as const) {
    await page.setViewportSize({ width, height })
    await page.goto(url)
    const first = page
      .locator('#g-ask ~ .rows')
      .getByText(/Decide all|now…|anyway…/)
      .first()
    const { y, height: tall } = (await first.boundingBox())!
    expect([width, y + tall <= height]).toEqual([width, true])
    const covered = await page.evaluate(`[...document.querySelectorAll('button, summary, .button')]
      .filter((node) => node.checkVisibility() && node.offsetHeight > 0)
      .flatMap((node) => {
        node.scrollIntoView({ block: 'center' })
        const { left, top, width, height } = node.getBoundingClientRect()
        const hit = document.elementFromPoint(left + width / 2, top + height / 2)
        return hit !== null && (node === hit || node.contains(hit) || hit.contains(node)) ? [] : [node.textContent]
      })`)
    expect([width, covered]).toEqual([width, []])
    await page.goto(url)
    await page.locator('.bulk > summary').first().click()
    const press = (await page.locator('.bulk[open] [value=approve]').boundingBox())!
    expect([width, press.y + press.height <= height]).toEqual([width, true])
  }
})
