// The table itself: the store refuses what is too large and names it, as Azure names no row and
// Azurite accepts it. And Azure's answers are told apart.
import { RestError, type TableClient } from '@azure/data-tables'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { toView } from '../../functions/core/event/view.ts'
import { AzureTable, type EntityChange } from '../../functions/store/azure/table.ts'
import { buildKey } from '../../functions/store/keys.ts'
import { type Azurite, newClient, newTable, startAzurite } from '../support/azurite.ts'
import { at, delivery, facts, key, notification, record } from '../support/records.ts'
import { azureRows, storeOver } from '../support/stores.ts'

let azurite: Azurite
beforeAll(async () => {
  azurite = await startAzurite()
})
afterAll(() => azurite.stop())

const put = (row: string, text: string): EntityChange => ({ kind: 'put', row, text })
const everything = ['', '~'] as const

/** A client that answers everything with this error. */
function failing(statusCode: number, code: string): TableClient {
  const fail = () => Promise.reject(new RestError('secret-of-the-request', { statusCode, code }))
  const methods = { getEntity: fail, submitTransaction: fail, deleteEntity: fail }
  return { tableName: 'foghorn', ...methods } as unknown as TableClient
}

describe('a write that is too large is refused before anything is written', () => {
  test('a row, by its name and its size', async () => {
    const rows = newTable(azurite)
    const changes = [put('small', 'x'), put('large', 'x'.repeat(480_001))]
    await expect(rows.change('here', changes)).rejects.toThrow(
      /row "large" of partition "here" has 480001 characters.*480000/,
    )
    expect(await rows.list('here', ...everything)).toEqual([])
  })

  test('a transaction, by its partition and its size', async () => {
    const rows = newTable(azurite)
    // three bytes each in UTF-8
    const changes = Array.from({ length: 5 }, (_, i) => put(`r${i}`, '€'.repeat(300_000)))
    await expect(rows.change('here', changes)).rejects.toThrow(
      /transaction in partition "here" has 4510\d\d\d bytes.*4194304/,
    )
    expect(await rows.list('here', ...everything)).toEqual([])
    expect(await rows.change('here', changes.slice(0, 4))).toHaveLength(changes.length - 1)
  })
})

describe('a body of several parts is read back unchanged', () => {
  const emoji = '🚢'
  const bodies = {
    nothing: '',
    'one part to the last letter': 'x'.repeat(32_000),
    'one letter more': 'x'.repeat(32_001),
    'an emoji across the boundary': `${'x'.repeat(31_999)}${emoji}y`,
    'emoji across every boundary': `x${emoji.repeat(100_000)}`,
    'as many parts as there may be': 'ü'.repeat(480_000),
  }

  test.each(Object.entries(bodies))('%s', async (_, body) => {
    const rows = newTable(azurite)
    await rows.change('here', [put('a', body)])
    expect((await rows.read('here', 'a'))?.text === body).toBe(true)
    const [listed] = await rows.list('here', ...everything)
    expect(listed?.text === body).toBe(true)
    // and a shorter body leaves nothing of it
    await rows.change('here', [put('a', 'short')])
    expect((await rows.read('here', 'a'))?.text).toBe('short')
  })
})

describe('keys', () => {
  test('have less than 1 KiB, however long their parts are', () => {
    const long = '🚢'.repeat(1_000)
    const longest = [buildKey('event', long, long), buildKey(long, 'x'.repeat(15), long)]
    // https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model
    for (const one of longest) expect(one.length * 2).toBeLessThanOrEqual(1_024)
  })

  test('differ if long parts differ at the end, or if the same text is split differently', () => {
    const long = 'x'.repeat(300)
    const keys = [
      buildKey(`${long}a`),
      buildKey(`${long}b`),
      buildKey('a', 'b'),
      buildKey('a|b'),
      buildKey('ab'),
    ]
    expect(new Set([...keys, buildKey('a=7Cb'), buildKey('a', '', 'b')]).size).toBe(7)
  })
})

describe('a table', () => {
  test('that is missing is created, even if several writers come first at once', async () => {
    const client = newClient(azurite)
    const rows = [new AzureTable(client), new AzureTable(client), new AzureTable(client)]
    const works = rows.flatMap((one, i) => [
      one.read('here', 'a'),
      one.list('here', ...everything),
      one.change('here', [{ kind: 'insert', row: `r${i}`, text: '' }]),
      one.change('here', [{ kind: 'remove', row: 'none' }]),
    ])
    const outcomes = await Promise.all(works)
    // the three lists were empty, and may have come later
    const changed = outcomes.filter((_, i) => i % 4 === 2)
    expect(changed).toEqual([[expect.any(String)], [expect.any(String)], [expect.any(String)]])
    expect(outcomes.filter((outcome) => outcome === 'conflict')).toHaveLength(3)
    expect(await rows[0]!.list('here', ...everything)).toHaveLength(3)
  })
})

describe('an answer of Azure', () => {
  test.each([401, 403])(
    '%i names the missing roles, and nothing of the request',
    async (status) => {
      const rows = new AzureTable(failing(status, 'AuthorizationPermissionMismatch'))
      const error = await rows.read('here', 'a').catch((thrown) => thrown)
      expect(error).toMatchObject({ code: 'storage_forbidden' })
      expect(error.message).toMatch(
        /"foghorn" \(AuthorizationPermissionMismatch\).*Table Data Contr/,
      )
      expect(JSON.stringify([error, error.message, error.stack])).not.toContain('secret')
    },
  )

  test('503 says that the storage failed', async () => {
    const rows = new AzureTable(failing(503, 'ServerBusy'))
    const error = await rows.change('here', [put('a', '')]).catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'storage_unavailable' })
    expect(error.message).toContain('503 for "foghorn": ServerBusy; the relay retries')
    expect(error.message).toContain('check the availability and throttling')
  })

  test.each(['ResourceNotFound', 'EntityNotFound'])(
    '%s means that there is no row',
    async (code) => {
      const rows = new AzureTable(failing(404, code))
      expect(await rows.read('here', 'a')).toBeUndefined()
      expect(await rows.change('here', [{ kind: 'remove', row: 'a' }])).toBe('conflict')
      const replace = { kind: 'replace' as const, row: 'a', text: '', etag: 'x' }
      expect(await rows.change('here', [replace])).toBe('conflict')
    },
  )

  test('a missing table is created only once', async () => {
    const client = failing(404, 'TableNotFound')
    const createTable = vi.fn(async () => {})
    const rows = new AzureTable(Object.assign(client, { createTable }) as TableClient)
    await expect(rows.read('here', 'a')).rejects.toThrow('404 for "foghorn": TableNotFound')
    expect(createTable).toHaveBeenCalledTimes(1)
  })
})

test('a commit of 60 deliveries with the largest record fits', async () => {
  const store = storeOver(azureRows(newTable(azurite)))
  const resources = Array.from({ length: 1_000 }, (_, i) => `${'v'.repeat(250)}${i}`)
  const large = record({ facts: facts({ resources }), dueAt: at })
  const told = notification({ event: toView(large) })
  const deliveries = Array.from({ length: 60 }, (_, i) =>
    delivery(`d${i}`, { channel: `chat-${i}`, notification: told }),
  )
  const moments = [{ id: 'a-moment', ...key, notification: told }]
  const commit = { record: large, basedOn: 0, deliveries, moments, now: at }
  expect(await store.commit(commit)).toBe('committed')
  expect(await store.readDeliveries(key)).toHaveLength(60)
})
