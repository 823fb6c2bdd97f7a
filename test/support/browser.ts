// A real Chromium from its npm package, so that no machine needs one installed.
import { setTimeout as sleep } from 'node:timers/promises'
import chromium from '@sparticuz/chromium'
import { type Browser, chromium as driver } from 'playwright-core'

/**
 * Not the package's own list, which switches web security off. The sandbox needs rights that CI and
 * containers lack; without the others, Chromium calls home at every start.
 */
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
]

const unpackingMs = 60_000
const lookAgainMs = 250

/**
 * The package unpacks Chromium once into the folder for temporary files, and takes a file that is there
 * for a whole one: another test file may still be writing it, and it can't be run before.
 */
export async function startBrowser(): Promise<Browser> {
  const executablePath = await chromium.executablePath()
  for (let waitedMs = 0; ; waitedMs += lookAgainMs) {
    try {
      return await driver.launch({ executablePath, args, headless: true })
    } catch (error) {
      if (waitedMs >= unpackingMs || !/ETXTBSY|EACCES/.test(String(error))) throw error
      await sleep(lookAgainMs)
    }
  }
}
