// The files for Prometheus and Grafana, checked by Prometheus' own tool, which also reads what a real
// relay answers.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { metrics } from '../../../functions/features/metrics/rule.ts'
import { has } from '../../../infra/vm/package/tools.ts'
import { answer, gone } from '../../support/deliveries.ts'
import { newFolder } from '../../support/folder.ts'
import { minute, report, startRelay, world } from '../../support/relay.ts'
import { askApi } from '../../support/tokens.ts'
import { adminKey, event, prodKey } from '../../support/world.ts'

const folder = join(import.meta.dirname, '../../../infra/monitoring')
const rulesFile = join(folder, 'alerts.yml')
const text = (name: string) => readFileSync(join(folder, name), 'utf8')

function promtool({ skip }: TestContext, words: string[], input = '') {
  if (!has('promtool')) skip('not installed: promtool (Debian: prometheus)')
  const { status, stdout, stderr } = spawnSync('promtool', words, { input, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

const fine = (output: unknown) => ({ status: 0, output })

interface Panel {
  title: string
  targets: { expr: string }[]
}

function panelsOf(dashboard: string): Panel[] {
  return (JSON.parse(dashboard) as { panels: Panel[] }).panels
}

async function scrape(): Promise<string> {
  return (await askApi(world, adminKey, '/metrics')).text()
}

/** A relay with an event, a channel that refuses, and beacons that are silent or missing. */
async function startInTrouble(): Promise<void> {
  const fleets = { prod: { key: prodKey, expectedBeacons: 3 } }
  const chat = { kind: 'slack', url: 'https://slack.example/services/T0/B0/slack-secret' }
  await startRelay({ fleets, channels: { chat }, routes: [{ match: {}, channels: ['chat'] }] })
  await report()
  await world.pass(60 * minute)
  answer(world, 'slack', gone)
  await report(event({ notBeforeAt: world.clock.now + 5 * minute }))
  await world.pass(3_000)
}

test('Prometheus finds nothing to complain of in the answer of a relay', async (context) => {
  await startInTrouble()
  expect(promtool(context, ['check', 'metrics'], await scrape())).toEqual(fine(''))
})

test('the rules, by the tests beside them', (context) => {
  const checked = promtool(context, ['check', 'rules', rulesFile])
  expect(checked).toEqual(fine(expect.stringContaining('SUCCESS')))
  const tested = promtool(context, ['test', 'rules', join(folder, 'alerts.test.yml')])
  expect(tested).toEqual(fine(expect.stringContaining('SUCCESS')))
})

test('every rule has a test', () => {
  const names = (name: string, key: string) =>
    [...text(name).matchAll(new RegExp(`${key}: (\\w+)`, 'g'))].map(([, found]) => found)
  const tested = new Set(names('alerts.test.yml', 'alertname'))
  expect(tested).toEqual(new Set(names('alerts.yml', '- alert')))
})

test('the series of a real relay in trouble fire the rules that name its trouble', async (context) => {
  await startInTrouble()
  const samples = (await scrape()).split('\n').filter((line) => !/^#|^$/.test(line))
  const series = samples.map((line) => {
    const [, name, value] = /^(.*) (\S+)$/.exec(line)!
    return `      - {series: '${name}', values: '${value}x60'}`
  })
  const alert = (name: string, minutes: number, labels: string) =>
    `      - {alertname: ${name}, eval_time: ${minutes}m, exp_alerts: [{exp_labels: {severity: warning, ${labels}}}]}`
  const tests = [
    'rule_files: [alerts.yml]',
    'tests:',
    '  - interval: 1m',
    '    input_series:',
    ...series,
    '    alert_rule_test:',
    alert('FoghornDecisionDue', 1, 'fleet: prod'),
    alert('FoghornChannelTrouble', 10, 'channel: chat, state: refusing'),
    alert('FoghornBeaconsMissing', 40, 'fleet: prod'),
  ]
  const own = newFolder('monitoring')
  const rules = text('alerts.yml').replaceAll(/^ +annotations:\n( {10}.*\n)+/gm, '')
  writeFileSync(join(own, 'alerts.yml'), rules)
  writeFileSync(join(own, 'test.yml'), `${tests.join('\n')}\n`)
  const tested = promtool(context, ['test', 'rules', join(own, 'test.yml')])
  rmSync(own, { recursive: true })
  expect(tested).toEqual(fine(expect.stringContaining('SUCCESS')))
})

test('rules and dashboard name only metrics that exist', () => {
  const known = metrics.flatMap(({ name, type }) => [
    name,
    ...(type === 'histogram' ? [`${name}_bucket`] : []),
  ])
  for (const file of ['alerts.yml', 'alerts.test.yml', 'dashboard.json']) {
    const named = [...text(file).matchAll(/\bfoghorn_\w+/g)].map(([name]) => name)
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((name) => !known.includes(name))).toEqual([])
  }
})

test('the dashboard shows every metric but the time of the start, in queries that Prometheus reads', (context) => {
  const dashboard = text('dashboard.json')
  const queries = panelsOf(dashboard).flatMap(({ targets }) => targets.map(({ expr }) => expr))
  for (const { name } of metrics.filter((one) => !one.name.endsWith('timestamp_seconds'))) {
    expect(queries.join('\n')).toContain(name)
  }
  const records = queries.map((expr, i) => {
    const filled = expr.replaceAll('$fleet', '.*')
    return `      - {record: 'panel:${i}', expr: ${JSON.stringify(filled)}}`
  })
  const own = newFolder('monitoring')
  const file = join(own, 'panels.yml')
  writeFileSync(file, `groups:\n  - name: panels\n    rules:\n${records.join('\n')}\n`)
  const checked = promtool(context, ['check', 'rules', file])
  rmSync(own, { recursive: true })
  expect(checked).toEqual(fine(expect.stringContaining('SUCCESS')))
})
