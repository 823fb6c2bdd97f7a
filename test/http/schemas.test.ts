// The published JSON Schemas, and whether real bodies of webhooks follow them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isAlertAbout } from '../../functions/core/delivery/delivery.ts'
import { moments } from '../../functions/core/event/moment.ts'
import { capture } from '../notify/outgoing.ts'
import { scenes } from '../notify/scenes.ts'
import { checkOf } from '../support/json-schema.ts'
import { startRelay, startWithEvent, world } from '../support/relay.ts'

const root = join(import.meta.dirname, '../..')
const files = ['event', 'alert'] as const
const published = Object.fromEntries(
  files.map((name) => [
    name,
    JSON.parse(readFileSync(join(root, `infra/${name}.schema.json`), 'utf8')),
  ]),
)
const kindOf = (name: string) =>
  isAlertAbout(scenes[name]!.delivery.notification) ? 'alert' : 'event'

describe('the address', () => {
  test.each(files)('of %s needs no credential and names its version', async (name) => {
    await startRelay()
    world.relay.credentials.adminKey = undefined
    const { pathname, search } = new URL(published[name].$id)
    for (const path of [pathname, pathname + search]) {
      const response = await world.app.request(path)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('application/schema+json')
      const $id = `https://foghorn.example${pathname}${search}`
      expect(await response.json()).toEqual({ ...published[name], $id })
    }
    const other = await world.app.request(`${pathname}?version=2`)
    expect([other.status, await other.json()]).toMatchObject([400, { code: 'query_invalid' }])
  })

  test('is in every body, which is what the schema says', async () => {
    await startWithEvent()
    const { dataschema, data } = world.sent.find(({ url }) => url.includes('hook'))!.json
    const { pathname, search } = new URL(dataschema)
    const response = await world.app.request(pathname + search)
    const schema = (await response.json()) as { $id: string }
    expect(schema.$id).toBe(dataschema)
    expect(checkOf(schema, 'as_published')(data)).toBeUndefined()
  })
})

describe.each(files)('the schema of %s', (name) => {
  const check = checkOf(published[name], 'no_further_fields')

  test('accepts its own examples, and receivers accept new fields', () => {
    const lenient = checkOf(published[name], 'as_published')
    for (const example of published[name].examples) {
      expect(check(example)).toBeUndefined()
      expect(lenient({ ...example, later: 1 })).toBeUndefined()
      expect(check({ ...example, later: 1 })).toContain('additional')
    }
  })

  test.each(Object.keys(scenes).filter((scene) => kindOf(scene) === name))(
    'accepts the body of "%s"',
    async (scene) => {
      const { request } = await capture('webhook', scenes[scene])
      expect(request!.json.dataschema).toBe(
        published[name].$id.replace('foghorn.example.com', 'foghorn.example'),
      )
      expect(check(request!.json.data)).toBeUndefined()
    },
  )
})

test('there is an example of each moment', () => {
  const examples = published.event.examples.map(({ moment }: { moment: string }) => moment)
  expect(new Set(examples)).toEqual(new Set([...moments, 'alert']))
})
