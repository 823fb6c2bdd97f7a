// The Bicep files, compiled and linted by Bicep's own compiler. Where it is not, this is skipped, and the
// promises of the templates are checked in the JSON that is in the repository (azure.test.ts).
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { bicepHere, listTemplates, noCompiler, runBicep } from '../../infra/bicep.ts'

const timeout = 60_000

test('the linter has nothing to say of any file', { timeout }, ({ skip }) => {
  const compiler = bicepHere() ?? skip(noCompiler)
  expect(runBicep(compiler, ['lint', '--pattern', '**/*.bicep'])).toBe('')
  const parameters = JSON.parse(runBicep(compiler, ['build-params', 'main.bicepparam', '--stdout']))
  expect(JSON.parse(parameters.templateJson)).toHaveProperty('resources')
})

test('the templates are what the compiler makes of them', { timeout }, ({ skip }) => {
  const compiler = bicepHere() ?? skip(noCompiler)
  const templates = listTemplates(compiler)
  expect(templates.map(({ file }) => file).join()).toContain('/azure/main.json')
  for (const { file, content } of templates) expect(readFileSync(file, 'utf8'), file).toBe(content)
})
