// `check` as a process, on Node and as the executable: what it prints, how it ends, and that nobody
// notices it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Environment } from '../../../beacon/variables.ts'
import { checkPath, checkSchema } from '../../../shared/check.ts'
import { previewVersion } from '../../../shared/document.ts'
import { verify } from '../../../shared/signature.ts'
import { ways } from '../../support/beacon-ways.ts'
import { serveImds, start } from '../process.ts'
import { fleetKey, serve, temporaryDirectory } from '../world.ts'

describe.each(ways)('$title', ({ way, isSkipped }) => {
  async function check(environment: Environment, cwd = temporaryDirectory()) {
    const { exited, output } = await start(way, environment, { cwd, words: ['check'] })
    const code = await exited
    const lines = output.stdout.trim().split('\n')
    const results = lines.slice(1).map((line) => line.split(/ +/, 2).join(' '))
    return { code, lines, results, ...output }
  }

  const settings = {
    ...{ FOGHORN_FLEET: 'shop', FOGHORN_FLEET_KEY: fleetKey },
    FOGHORN_HOOKS: '/no/hooks',
  }

  test.skipIf(isSkipped)('all is well', async () => {
    const imds = await serveImds()
    const relay = await serve((_, response) => {
      const time = Date.now()
      const answer = { fleet: 'shop', time, beacon: '/vm1', heardAt: time, state: 'heard' }
      response.end(JSON.stringify(answer))
    })
    const cwd = temporaryDirectory()
    const urls = { FOGHORN_IMDS_URL: imds.origin, FOGHORN_RELAY_URL: relay.origin }
    const { code, lines, results, stderr } = await check({ ...settings, ...urls }, cwd)
    expect(lines[0]).toMatch(/two minutes/)
    const ofRelay = ['ok relay', 'skip certificate', 'ok credential', 'ok clock', 'ok heard']
    expect(results).toEqual(['ok imds', 'ok vm', 'ok reboots', ...ofRelay, 'ok state', 'ok hooks'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })

    const asked = imds.asked.filter(({ url }) => !url.endsWith(previewVersion))
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'GET'])
    expect(relay.asked).toMatchObject([{ method: 'POST', url: checkPath }])
    const { body, headers } = relay.asked[0]!
    expect(checkSchema.parse(JSON.parse(body)).vm).toMatchObject({ name: 'vm1' })
    const header = (name: string) => headers[name] as string | undefined
    expect(await verify([fleetKey], header, Date.now(), body)).toBe('valid')
    expect(existsSync(join(cwd, '.foghorn-beacon'))).toBe(false)
  })

  test.skipIf(isSkipped)('nobody answers', async () => {
    const urls = { FOGHORN_IMDS_URL: 'http://127.0.0.1:1', FOGHORN_RELAY_URL: 'http://127.0.0.1:1' }
    const proxy = { NO_PROXY: '10.0.0.0/8, relay.example' }
    const { code, results, stdout } = await check({ ...settings, ...urls, ...proxy })
    const skipped = ['certificate', 'credential', 'clock', 'heard'].map((about) => `skip ${about}`)
    const expected = [
      'fix imds',
      'skip vm',
      'skip reboots',
      'fix relay',
      ...skipped,
      'ok state',
      'ok hooks',
      'fix proxy',
    ]
    expect(results).toEqual(expected)
    expect(stdout).toContain('NO_PROXY has entries that name no host: "10.0.0.0/8"; write names')
    expect(code).toBe(2)
    expect(stdout).not.toContain(fleetKey.slice(6))
  })

  test.skipIf(isSkipped)('a wrong setting ends it before it asks anybody', async () => {
    const { code, stdout, stderr } = await check({ ...settings, FOGHORN_RELAY_URL: 'relay' })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^FOGHORN_RELAY_URL is "relay"/)
  })
})
