import { describe, expect, test } from 'vitest'
import { readEnvironment } from '../../beacon/settings.ts'
import type { Environment } from '../../beacon/variables.ts'
import { fleetKey } from './world.ts'

const right: Environment = {
  FOGHORN_RELAY_URL: 'https://foghorn.example.com',
  FOGHORN_FLEET: 'shop',
  FOGHORN_FLEET_KEY: fleetKey,
}

function settingsOf(changes: Environment = {}) {
  const read = readEnvironment({ ...right, ...changes })
  if ('problems' in read) throw new Error(read.problems.join('\n'))
  return read
}

function problemsOf(changes: Environment) {
  const read = readEnvironment({ ...right, ...changes })
  return 'problems' in read ? read.problems : []
}

test('three variables are enough', () => {
  expect(settingsOf()).toEqual({
    relayUrl: 'https://foghorn.example.com',
    fleet: 'shop',
    credential: { by: 'key', fleetKey },
    imdsUrl: 'http://169.254.169.254',
    pollMs: 1_000,
    logLevel: 'info',
    stateDirectory: '.foghorn-beacon',
    hooks: {
      folder: '/etc/foghorn/hooks',
      socket: '/run/foghorn/hooks.sock',
      leadMs: 600_000,
      eventTypes: undefined,
    },
    proxy: {},
    secrets: [fleetKey, fleetKey.slice(6)],
  })
})

test.each<[Environment, object]>([
  [
    { FOGHORN_RELAY_URL: 'https://example.com/foghorn/' },
    { relayUrl: 'https://example.com/foghorn/' },
  ],
  [{ FOGHORN_RELAY_URL: 'http://localhost:7071' }, { relayUrl: 'http://localhost:7071' }],
  [{ FOGHORN_RELAY_URL: 'http://127.0.0.1:7071' }, {}],
  [{ FOGHORN_RELAY_URL: 'http://[::1]:7071' }, {}],
  [{ FOGHORN_IMDS_URL: 'http://127.0.0.1:9101/' }, { imdsUrl: 'http://127.0.0.1:9101/' }],
  [{ FOGHORN_POLL_SECONDS: '0.3' }, { pollMs: 300 }],
  [{ FOGHORN_POLL_SECONDS: '' }, { pollMs: 1_000 }],
  [{ FOGHORN_STATE_DIR: '/var/lib/foghorn' }, { stateDirectory: '/var/lib/foghorn' }],
  [{ FOGHORN_LOG_LEVEL: 'debug' }, { logLevel: 'debug' }],
  [{ HTTPS_PROXY: 'http://p:3128' }, { proxy: { HTTPS_PROXY: 'http://p:3128' } }],
  [{ https_proxy: 'http://p', HTTPS_PROXY: 'http://q' }, { proxy: { HTTPS_PROXY: 'http://p' } }],
  [{ no_proxy: 'a,b' }, { proxy: { NO_PROXY: 'a,b' } }],
  [{ HTTP_PROXY: 'http://p', ALL_PROXY: 'http://p' }, { proxy: {} }],
])('%o is understood', (changes, expected) => {
  expect(settingsOf(changes)).toMatchObject(expected)
})

test('an audience takes the place of the key', () => {
  const tokens = { FOGHORN_FLEET_KEY: undefined, FOGHORN_AUDIENCE: 'api://foghorn' }
  const credential = { by: 'token', audience: 'api://foghorn', clientId: undefined }
  expect(settingsOf(tokens)).toMatchObject({ credential, secrets: [] })
  const clientId = '1e6d2f1c-0a4b-4c57-9b1e-5c2f0d9a7e11'
  const assigned = { ...tokens, FOGHORN_IDENTITY_CLIENT_ID: clientId }
  expect(settingsOf(assigned)).toMatchObject({ credential: { ...credential, clientId } })
})

describe('a wrong value is named, shown and corrected', () => {
  test.each<[Environment, RegExp]>([
    [{ FOGHORN_RELAY_URL: undefined }, /^FOGHORN_RELAY_URL is missing: write .* https:\/\//],
    [{ FOGHORN_RELAY_URL: 'foghorn' }, /"foghorn": write the https address/],
    [{ FOGHORN_RELAY_URL: 'localhost:7071' }, /"localhost:7071": write/],
    [{ FOGHORN_RELAY_URL: 'http://relay.example' }, /plain http/],
    [{ FOGHORN_RELAY_URL: 'http://127.0.0.1.example' }, /plain http/],
    [{ FOGHORN_RELAY_URL: 'https://a/?x=1' }, /without user, query or fragment/],
    [{ FOGHORN_FLEET: '' }, /^FOGHORN_FLEET is missing: write the name/],
    [{ FOGHORN_FLEET: 'my fleet' }, /^FOGHORN_FLEET is "my fleet"/],
    [{ FOGHORN_FLEET_KEY: undefined }, /^FOGHORN_FLEET_KEY is missing: write the key/],
    [{ FOGHORN_FLEET_KEY: undefined }, /or set FOGHORN_AUDIENCE instead/],
    [
      { FOGHORN_AUDIENCE: 'api://foghorn' },
      /^FOGHORN_FLEET_KEY is set together with FOGHORN_AUDIENCE: remove the key if this VM has an identity/,
    ],
    [
      { FOGHORN_FLEET_KEY: undefined, FOGHORN_AUDIENCE: 'api foghorn' },
      /^FOGHORN_AUDIENCE is "api foghorn": write what the relay has in "audience"/,
    ],
    [
      { FOGHORN_IDENTITY_CLIENT_ID: '1e6d2f1c-0a4b-4c57-9b1e-5c2f0d9a7e11' },
      /^FOGHORN_IDENTITY_CLIENT_ID is set without FOGHORN_AUDIENCE/,
    ],
    [
      {
        FOGHORN_FLEET_KEY: undefined,
        FOGHORN_AUDIENCE: 'api://foghorn',
        FOGHORN_IDENTITY_CLIENT_ID: 'beacons',
      },
      /^FOGHORN_IDENTITY_CLIENT_ID is "beacons": write the client id \(a GUID\)/,
    ],
    [{ FOGHORN_IMDS_URL: 'http://127.0.0.1/metadata' }, /^FOGHORN_IMDS_URL .*write an http origin/],
    [{ FOGHORN_IMDS_URL: 'https://127.0.0.1' }, /^FOGHORN_IMDS_URL/],
    [
      { FOGHORN_POLL_SECONDS: '0.2' },
      /^FOGHORN_POLL_SECONDS is "0.2": write seconds from 0.3 to 60/,
    ],
    [{ FOGHORN_POLL_SECONDS: '61' }, /^FOGHORN_POLL_SECONDS/],
    [{ FOGHORN_POLL_SECONDS: '1s' }, /^FOGHORN_POLL_SECONDS is "1s"/],
    [{ FOGHORN_LOG_LEVEL: 'loud' }, /"loud": write one of debug, info, warn, error$/],
    [{ https_proxy: 'proxy' }, /^https_proxy is "proxy": write the address of a proxy/],
  ])('%o', (changes, sentence) => {
    expect(problemsOf(changes)).toEqual([expect.stringMatching(sentence)])
  })

  test('and all of them at once', () => {
    expect(
      problemsOf({
        ...{ FOGHORN_RELAY_URL: 'x', FOGHORN_FLEET: '', FOGHORN_POLL_SECONDS: 'x' },
        FOGHORN_FLEET_KEY: undefined,
      }),
    ).toHaveLength(4)
  })
})

describe('no sentence shows a secret', () => {
  test.each<[Environment, string]>([
    [{ FOGHORN_FLEET_KEY: 'whsec_hunter22' }, 'hunter22'],
    [{ FOGHORN_FLEET_KEY: 'hunter22hunter22' }, 'hunter22'],
    [{ FOGHORN_RELAY_URL: 'whsec_hunter22' }, 'hunter22'],
    [{ FOGHORN_RELAY_URL: 'https://me:hunter22@relay' }, 'hunter22'],
    [{ FOGHORN_FLEET: 'my whsec_hunter22' }, 'hunter22'],
    [{ FOGHORN_FLEET_KEY: undefined, FOGHORN_AUDIENCE: 'whsec_hunter22' }, 'hunter22'],
    [{ HTTPS_PROXY: 'ftp://me:hunter22@proxy' }, 'hunter22'],
    [{ HTTPS_PROXY: 'me:hunter22@proxy:3128' }, 'hunter22'],
    [{ HTTPS_PROXY: 'http://me:hunter22/b@proxy:3128' }, 'hunter22'],
    [{ HTTPS_PROXY: 'ftp://me:a@hunter22@proxy' }, 'hunter22'],
  ])('%o', (changes, secret) => {
    const problems = problemsOf(changes)
    expect(problems).toHaveLength(1)
    expect(problems[0]).not.toContain(secret)
  })

  test("nor does the log show a proxy's password", () => {
    const { secrets } = settingsOf({ HTTPS_PROXY: 'http://me:hunter%2F22@proxy:3128' })
    expect(secrets).toEqual(expect.arrayContaining(['me:hunter%2F22', 'hunter/22']))
  })

  test('even if it has a % that begins no escape', () => {
    const { secrets } = settingsOf({ HTTPS_PROXY: 'http://me:hunter%off@proxy:3128' })
    expect(secrets).toEqual(expect.arrayContaining(['me:hunter%off', 'hunter%off']))
  })
})
