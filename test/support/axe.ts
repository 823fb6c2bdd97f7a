// Looks for what a screen reader or weak eyes would miss, with the rules of axe.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Result {
  violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[]
}

/** One text for each violation, with the first element that has it. */
export async function violationsOn(page: Page): Promise<string[]> {
  await page.evaluate(source)
  const { violations } = (await page.evaluate(
    "axe.run({ rules: { 'target-size': { enabled: true } } })",
  )) as Result
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`)
}
