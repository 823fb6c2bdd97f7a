// TLS to the relay, on Node and as the executable: only a valid certificate for its host gets a
// report, whatever the environment says.
import { writeFileSync } from 'node:fs'
import https from 'node:https'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Environment } from '../../beacon/variables.ts'
import { ways } from '../support/beacon-ways.ts'
import { createAuthority } from '../support/certificate.ts'
import { serveProxy } from '../support/forward-proxy.ts'
import { serveImds, start } from './process.ts'
import { fleetKey, serve, temporaryDirectory } from './world.ts'

const authority = createAuthority()
const yesterday = new Date(Date.now() - 86_400_000)
const certificates = {
  valid: authority.issue(),
  'for another host': authority.issue({ host: 'relay.example' }),
  expired: authority.issue({ validUntil: yesterday }),
  'of an unknown authority': createAuthority('another authority').issue(),
}

/** A relay by https, with the environment of a beacon that reports to it. */
async function setUp(kind: keyof typeof certificates) {
  const { certificate, key } = certificates[kind]
  const answer = {
    outcome: 'accepted',
    time: Date.now(),
    paceMs: 500,
    directives: [],
    fleet: 'shop',
  }
  const server = https.createServer({ cert: certificate, key })
  const relay = await serve((_, response) => response.end(JSON.stringify(answer)), server)
  const url = relay.origin.replace('http:', 'https:')
  const imds = await serveImds()
  const file = join(temporaryDirectory(), 'authority.pem')
  writeFileSync(file, authority.certificate)
  const environment: Environment = {
    FOGHORN_RELAY_URL: url,
    FOGHORN_IMDS_URL: imds.origin,
    FOGHORN_FLEET: 'shop',
    FOGHORN_FLEET_KEY: fleetKey,
    NODE_EXTRA_CA_CERTS: file,
  }
  return { relay, environment }
}

const wrong = ['for another host', 'expired', 'of an unknown authority'] as const

describe.each(ways)('$title', ({ way, isSkipped }) => {
  const check = async (environment: Environment) => {
    const { exited, output } = await start(way, environment, { words: ['check'] })
    return { code: await exited, stdout: output.stdout }
  }

  test.skipIf(isSkipped)('a valid certificate of an authority that is added', async () => {
    const { relay, environment } = await setUp('valid')
    const beacon = await start(way, environment)
    await beacon.logged('relay_reached')
    const { stdout } = await check(environment)
    expect(stdout).toMatch(/^ok +certificate/m)
    expect(relay.asked.map(({ url }) => url)).toContain('/v1/reports')
    const { NODE_EXTRA_CA_CERTS: _, ...without } = environment
    expect((await check(without)).stdout).toMatch(/^fix +certificate .*NODE_EXTRA_CA_CERTS/m)
  })

  test.skipIf(isSkipped).each(wrong)('a certificate %s', async (kind) => {
    const { relay, environment } = await setUp(kind)
    const { code, stdout } = await check(environment)
    expect(stdout).toMatch(/^fix +certificate/m)
    expect(code).toBe(2)
    expect(relay.asked).toEqual([])
  })

  test.skipIf(isSkipped)('a beacon reports to no server with a wrong one', async () => {
    const { relay, environment } = await setUp('expired')
    const beacon = await start(way, { ...environment, NODE_TLS_REJECT_UNAUTHORIZED: '0' })
    const [failing] = await beacon.logged('relay_failing')
    expect(failing).toMatchObject({ reason: expect.stringContaining('CERT_HAS_EXPIRED') })
    expect(relay.asked).toEqual([])
  })

  test.skipIf(isSkipped)('behind a proxy the certificate is checked as well', async () => {
    const { relay, environment } = await setUp('for another host')
    const { proxy, tunnels } = await serveProxy()
    const insecure = { HTTPS_PROXY: proxy, NODE_TLS_REJECT_UNAUTHORIZED: '0' }
    const { stdout } = await check({ ...environment, ...insecure })
    expect(tunnels).toHaveLength(1)
    expect(stdout).toMatch(/^fix +certificate/m)
    expect(relay.asked).toEqual([])
  })

  test.skipIf(isSkipped)('a proxy gets its password, and NO_PROXY leaves it out', async () => {
    const { relay, environment } = await setUp('valid')
    const { proxy, tunnels } = await serveProxy()
    const withPassword = { ...environment, HTTPS_PROXY: proxy.replace('//', '//me:p%40ss@') }
    const { stdout } = await check(withPassword)
    expect(stdout).toMatch(/^ok +certificate/m)
    const authorization = `Basic ${Buffer.from('me:p@ss').toString('base64')}`
    expect(tunnels).toEqual([{ url: new URL(relay.origin).host, authorization }])
    for (const NO_PROXY of ['example.com,127.0.0.1', 'example.com 127.0.0.1']) {
      await check({ ...withPassword, NO_PROXY })
    }
    expect(tunnels).toHaveLength(1)
    expect(relay.asked).toHaveLength(3)
  })
})
