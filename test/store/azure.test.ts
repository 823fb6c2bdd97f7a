// The contract on a real Azurite, which the test run starts in memory.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { TableClient } from '@azure/data-tables'
import { afterAll, beforeAll } from 'vitest'
import { AzureStore } from '../../functions/store/azure/store.ts'
import { AzureTable } from '../../functions/store/azure/table.ts'
import { type Azurite, startAzurite } from '../support/azurite.ts'
import { storeContract } from './contract.ts'

let azurite: Azurite
beforeAll(async () => {
  azurite = await startAzurite()
})
afterAll(() => azurite.stop())

storeContract('AzureStore', async () => {
  const name = `t${randomUUID().replaceAll('-', '')}`
  const open = () => {
    const client = TableClient.fromConnectionString(azurite.connection, name, {
      allowInsecureConnection: true,
    })
    const rows = new AzureTable(client)
    return new AzureStore({ rows, newId: randomUUID, random: Math.random, wait: sleep })
  }
  return { store: open(), reopen: async () => open(), close: async () => {} }
})
