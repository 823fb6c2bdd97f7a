// The contract over the rows on Azure: on a real Azurite, which the test run starts in memory, and on
// a table in memory.
import { afterAll, beforeAll } from 'vitest'
import { type Azurite, newTable, startAzurite } from '../support/azurite.ts'
import { MemoryTable } from '../support/memory-table.ts'
import { azureRows, storeOver } from '../support/stores.ts'
import { storeContract } from './contract.ts'
import { rowsContract } from './rows-contract.ts'

let azurite: Azurite
beforeAll(async () => {
  azurite = await startAzurite()
})
afterAll(() => azurite.stop())

rowsContract('Azure Tables', async () => ({ rows: azureRows(newTable(azurite)), close() {} }))
storeContract('Azure Tables', async () => {
  const table = newTable(azurite)
  const open = () => storeOver(azureRows(table))
  return { store: open(), reopen: async () => open(), close: async () => {} }
})

rowsContract('a table in memory', async () => ({ rows: azureRows(new MemoryTable()), close() {} }))
