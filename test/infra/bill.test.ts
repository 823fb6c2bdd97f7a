// The bill of materials lists what was bundled, whatever npm counts it as.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { writeBundle } from '../../infra/bundle.ts'
import { billOfMaterials, describePart, packagesIn } from '../../infra/release/bill-of-materials.ts'
import { nodeFor } from '../../infra/vm/runtimes.ts'

test('every package of the bundles is in the bill, no other one is, and the runtimes are', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'foghorn-bill-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const { inputs } = await writeBundle(folder, undefined)
  const all = Object.values(inputs).flat()
  const parts = [nodeFor('x64'), nodeFor('arm64')].map(describePart)
  const file = await billOfMaterials(join(folder, 'bill.json'), { inputs: all, parts })
  const bill = JSON.parse(readFileSync(file, 'utf8'))
  const purls: string[] = bill.components.map(({ purl }: { purl: string }) => purl)
  const bundled = packagesIn(all).map(({ purl }) => purl)
  expect(purls.toSorted()).toEqual([...bundled, ...parts.map(({ purl }) => purl)].sort())
  expect(bundled.map((one) => one.replace(/@[^@]*$/, ''))).toEqual(
    expect.arrayContaining(['pkg:npm/hono', 'pkg:npm/%40azure/identity', 'pkg:npm/nodemailer']),
  )
  expect(bundled.length).toBeGreaterThan(40)
  expect(packagesIn(inputs.beacon).map(({ name }) => name)).toEqual(['zod'])
})
