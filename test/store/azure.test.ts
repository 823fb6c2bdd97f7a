// The contract over the rows on Azure: on a real Azurite, which the test run starts in memory, and on
// a table in memory.
import { TableClient } from '@azure/data-tables'
import { afterAll, beforeAll } from 'vitest'
import { AzureTable } from '../../functions/store/azure/table.ts'
import { type Azurite, startAzurite } from '../support/azurite.ts'
import { MemoryTable } from '../support/memory-table.ts'
import { azureRows, storeOver } from '../support/stores.ts'
import { rowsContract } from './rows-contract.ts'
import { storeContract } from './contract.ts'

let azurite: Azurite
beforeAll(async () => {
  azurite = await startAzurite()
})
afterAll(() => azurite.stop())

function newTable(): AzureTable {
  const name = `t${crypto.randomUUID().replaceAll('-', '')}`
  const options = { allowInsecureConnection: true }
  return new AzureTable(TableClient.fromConnectionString(azurite.connection, name, options))
}

rowsContract('Azure Tables', async () => ({ rows: azureRows(newTable()), close() {} }))
storeContract('Azure Tables', async () => {
  const table = newTable()
  const open = () => storeOver(azureRows(table))
  return { store: open(), reopen: async () => open(), close: async () => {} }
})

rowsContract('a table in memory', async () => ({ rows: azureRows(new MemoryTable()), close() {} }))
