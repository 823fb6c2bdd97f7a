// A real Chromium from its npm package, so that no machine needs one installed.
import chromium from '@sparticuz/chromium'
import { type Browser, chromium as driver } from 'playwright-core'

/** Without these, Chromium calls home at every start. */
const quiet = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
]

export async function startBrowser(): Promise<Browser> {
  const executablePath = await chromium.executablePath()
  return driver.launch({ executablePath, args: [...chromium.args, ...quiet], headless: true })
}
