// The table of `ship.bicep` has the columns that the relay sends, and its queries name no others.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cloudEventBody } from '../../functions/core/message/cloud-event.ts'
import { rowOf } from '../../functions/notify/ship/row.ts'
import table from '../../infra/azure/ship-columns.json' with { type: 'json' }
import { notification } from '../support/records.ts'

const folder = join(import.meta.dirname, '../../infra/azure/queries')
const columns = table.columns.map(({ name }) => name)

test('the columns are those of a row', () => {
  const sent = { id: 'id', notification: notification() }
  const body = cloudEventBody(sent, { api: 'https://foghorn.example' }, { publicUrl: '' })
  expect(columns).toEqual(Object.keys(rowOf(body)))
})

test.each(readdirSync(folder))('%s names no other column', (file) => {
  const code = readFileSync(join(folder, file), 'utf8').replace(/\/\/.*|'[^']*'/g, '')
  const own = [...code.matchAll(/([A-Z]\w*) =(?!=)/g)].map(([, name]) => name)
  const named = [...code.matchAll(/\b[A-Z]\w*/g)].map(([name]) => name)
  const known = [...columns, ...own, 'FoghornEvents_CL']
  expect(named.filter((name) => !known.includes(name))).toEqual([])
})
