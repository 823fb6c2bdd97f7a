// The small form of the schema library, which beacons use, has no messages of its own. A process of
// its own, because other tests load the form that brings them.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ofRun } from '../support/process.ts'

const root = join(import.meta.dirname, '../..')
const program = `
  import { questionSchema } from './beacon/hooks/protocol.ts'
  import { describeIssues } from './shared/errors.ts'
  import { answerSchema } from './shared/report.ts'
  const describe = (schema, value) => describeIssues(schema.safeParse(value).error, value)
  const answer = { outcome: 'accepted', time: 'noon', paceMs: 1, directives: [] }
  const question = { ask: 'run', order: { run: '' } }
  console.log(JSON.stringify([...describe(answerSchema, answer), ...describe(questionSchema, question)]))
`

test('a sentence of the beacon says what a value must be', async () => {
  const words = ['--input-type=module', '-e', program]
  const options = { cwd: root, env: ofRun() }
  const { stdout } = await promisify(execFile)(process.execPath, words, options)
  const [time, pace, run] = JSON.parse(stdout)
  expect(time).toMatch(/^time: .*number.*\(found "noon"\)$/)
  expect(pace).toMatch(/^paceMs: .*100.*\(found 1\)$/)
  expect(run).toMatch(/^order\.run: .*1.*\(found ""\)$/)
})
