// A person in a real browser opens the page and clicks, and the event starts. Afterwards,
// everything that the run left behind is searched for every secret.
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { told } from '../support/expect.ts'
import { type Stage, startStage } from '../support/stage.ts'
import { hostsToTry } from '../support/whole.ts'

let stage: Stage
let browser: Browser

beforeAll(async () => {
  browser = await startBrowser()
})

afterEach(() => stage?.stop())

afterAll(() => browser?.close())

test.each(hostsToTry)(
  'a click on the page reaches Azure within seconds on %s, and no secret leaves',
  {
    timeout: 120_000,
  },
  async (host) => {
    stage = await startStage({ vms: [['web_0', 'web_1', 'web_2']], host })
    await stage.startRelay()
    await stage.startBeacons()
    const { simulator, sinks } = stage
    const eventId = simulator.createEvent({
      EventType: 'Reboot',
      Resources: ['web_1'],
      Description: '<b>Restart</b> & "more"',
      impactSeconds: 1,
    })
    const link = await stage.approveLink(eventId)
    const pages: string[] = []
    const page = await browser.newPage()
    const answer = await page.goto(link)
    expect(answer?.headers()['content-security-policy']).toContain("default-src 'none'")
    pages.push(await page.content())
    expect(await page.textContent('h1')).toBe('Reboot of web_1')
    expect(await page.textContent('main')).toContain('<b>Restart</b> & "more"')
    expect(
      await page.evaluate('getComputedStyle(document.querySelector("button")).fontWeight'),
    ).toBe('600')
    const clickedAt = Date.now()
    await page.getByRole('button', { name: 'Restart now' }).click()
    await page.locator('[data-said]').waitFor()
    pages.push(await page.content())
    expect(await page.textContent('[data-said]')).toBe('You approved it.')
    await simulator.waitFor(() => simulator.startRequests().length > 0, 10_000)
    const [first] = simulator.startRequests()
    expect(first).toMatchObject({ status: 200 })
    expect(first!.at - clickedAt).toBeLessThan(host === 'node' ? 2_500 : 5_000)
    await told(stage, 'completed')
    const record = await stage.settledEvent(eventId)
    await page.reload()
    pages.push(await page.content())

    const token = new URL(link).pathname.split('/').at(-1)!
    const { secrets } = stage
    const places = [
      ...stage.programs.map(({ name, output }) => ({ name: `output of ${name}`, text: output })),
      // The configuration is the owner's own file and contains the addresses.
      ...(await stage.files()).filter(({ name }) => !name.endsWith('foghorn.config.json')),
      ...pages.map((text, i) => ({ name: `page ${i}`, text })),
      { name: 'events API', text: JSON.stringify(record) },
      ...sinks.received.map(({ kind, body }) => ({ name: `message to ${kind}`, text: body })),
    ]
    expect(places.length).toBeGreaterThan(15)
    for (const [secret, value] of Object.entries({ ...secrets, token })) {
      const found = places.filter(({ text }) => text.includes(value)).map(({ name }) => name)
      const meant = (name: string) => isMeant(secret, name)
      expect(
        found.filter((name) => !meant(name)),
        secret,
      ).toEqual([])
    }
  },
)

/** PagerDuty is sent its routing key, and people are sent their link. */
function isMeant(secret: string, place: string): boolean {
  if (secret === 'routingKey') return place === 'message to pagerduty'
  return secret === 'token' && place.startsWith('message to ')
}
