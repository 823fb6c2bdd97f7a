// The example for Docker Compose. Nothing here runs Docker: what can be wrong without it is checked.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { readDatabaseAddress } from '../../functions/store/postgres/address.ts'
import packageJson from '../../package.json' with { type: 'json' }

interface Service {
  image: string
  environment?: Record<string, string>
  volumes?: string[]
}

/** Compose fills it in. */
const fromShell = ['$', '{POSTGRES_PASSWORD}'].join('')

const file = join(import.meta.dirname, '../../infra/examples/compose.yaml')
const { services, volumes, configs } = parse(readFileSync(file, 'utf8'), { merge: true }) as {
  services: Record<string, Service>
  volumes: Record<string, null>
  configs: { caddy: { content: string } }
}

test('both relays share the database that is there', () => {
  const { environment: database } = services.database!
  for (const name of ['relay-1', 'relay-2']) {
    const { image, environment } = services[name]!
    expect(image).toBe(`foghorn-relay:${packageJson.version}`)
    const given = environment!.FOGHORN_DATABASE!.replace(fromShell, 'abc')
    expect(readDatabaseAddress(given)).toEqual({
      ...{ host: 'database', port: 5432, database: 'foghorn', user: 'foghorn' },
      ...{ password: 'abc', tls: false },
    })
    expect(configs.caddy.content).toContain(`${name}:8080`)
  }
  expect(database).toEqual({
    POSTGRES_USER: 'foghorn',
    POSTGRES_PASSWORD: fromShell,
  })
})

test('each volume that a service names is there', () => {
  const named = Object.values(services).flatMap(({ volumes: own = [] }) =>
    own.flatMap((one) => (one.startsWith('.') ? [] : [one.split(':')[0]])),
  )
  expect(named.sort()).toEqual(Object.keys(volumes).sort())
})
