// Generated files are checked in, so that the relay runs from a checkout without a build.
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { liveScript, liveScriptHash } from '../../functions/pages/browser/embedded.ts'
import { outdated } from '../../infra/generated.ts'

test('generated files are up to date', () => {
  expect(outdated(), 'files are out of date: run `npm run generate`').toEqual([])
})

test('the policy of a page names the program that is on the page', () => {
  expect(liveScriptHash).toBe(createHash('sha256').update(liveScript).digest('base64'))
  expect(liveScript).not.toMatch(/<\/?script|<!--/i)
})
