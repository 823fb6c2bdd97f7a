import { afterAll, beforeAll, describe } from 'vitest'
import { noPostgres, type Postgres, postgresNeeded, startPostgres } from '../support/postgres.ts'
import { isWhole } from '../support/whole.ts'
import { worlds } from './worlds.ts'

describe.skipIf(noPostgres || !isWhole)(`on PostgreSQL: ${postgresNeeded}`, () => {
  let server: Postgres
  beforeAll(async () => {
    server = await startPostgres()
  }, 120_000)
  afterAll(() => server?.stop())

  worlds('postgres', () => ({ postgresPort: server.port }))
})
