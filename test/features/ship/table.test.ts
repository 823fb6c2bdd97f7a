// The table of `ship.bicep` has the columns that the relay sends, and Kusto understands the queries.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { cloudEventBody } from '../../../functions/core/message/cloud-event.ts'
import { toTableRow } from '../../../functions/features/ship/kind-row.ts'
import table from '../../../infra/azure/ship-columns.json' with { type: 'json' }
import { mistakesIn } from '../../infra/kusto.ts'
import { arm, startWithAzure, subscription } from '../../support/azure.ts'
import { notification } from '../../support/records.ts'
import { world } from '../../support/relay.ts'

const folder = join(import.meta.dirname, '../../../infra/azure/queries')
const columns = table.columns.map(({ name }) => name)

test('the columns are those of a row', () => {
  const sent = { id: 'id', notification: notification() }
  const body = cloudEventBody(sent, { api: 'https://foghorn.example' }, { publicUrl: '' })
  expect(columns).toEqual(Object.keys(toTableRow(body)))
})

const types = table.columns.map(({ name, type }) => `${name}:${type.replace('boolean', 'bool')}`)
const tables = {
  FoghornEvents_CL: types.join(', '),
  maintenanceresources: 'id:string, type:string, properties:dynamic',
  resources:
    'id:string, name:string, type:string, resourceGroup:string, subscriptionId:string, tags:dynamic, properties:dynamic',
  resourcecontainers: 'id:string, type:string, subscriptionId:string',
}

test.each(readdirSync(folder))('Kusto understands %s', (file) => {
  expect(mistakesIn(readFileSync(join(folder, file), 'utf8'), tables)).toEqual([])
})

test('Kusto understands the query of the alert rule', () => {
  const bicep = readFileSync(join(folder, '../ship.bicep'), 'utf8')
  const [, query] = /unannouncedQuery = '''(.*?)'''/s.exec(bicep)!
  expect(mistakesIn(query!, tables)).toEqual([])
})

test('Kusto understands what the relay asks Resource Graph', async () => {
  await startWithAzure()
  onTestFinished(() => world.store.close())
  const { graph } = world.relay.outside.azure!
  await graph.listEvents([subscription])
  await graph.listMachines([subscription], 'people')
  await graph.listReadable([subscription])
  const queries = new Set(arm.queries.map(({ query }) => query))
  expect(queries.size).toBe(3)
  expect([...queries].flatMap((query) => mistakesIn(query, tables))).toEqual([])
})

test.each([
  ['FoghornEvents_CL | where Momnt == 1', 'Momnt'],
  ['FoghornEvents_CL | sumarize count()', 'operator'],
  ['FoghornEvents_CL | summarize percentil(Epoch, 5)', 'percentil'],
])('a mistake in a query is found: %s', (query, said) => {
  expect(mistakesIn(query, tables).join()).toContain(said)
})
