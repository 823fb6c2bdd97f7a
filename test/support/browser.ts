// A real Chromium from its npm package, so that no machine needs one installed.
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

export async function startBrowser(): Promise<Browser> {
  const executablePath = await chromium.executablePath()
  return driver.launch({ executablePath, args, headless: true })
}
