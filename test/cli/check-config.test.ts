// The command as an owner runs it: a process with arguments, output and an exit code.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { checkConfig } from '../../functions/cli/check-config.ts'
import { playCommand } from '../support/command.ts'
import { ofRun } from '../support/process.ts'
import { adminKey } from '../support/world.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'foghorn-check-'))
const example = 'infra/examples/full.config.json'
const environment = {
  PROD_FLEET_KEY: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  PAGERDUTY_ROUTING_KEY: '0123456789abcdef0123456789abcdef',
  SLACK_WEBHOOK_URL: 'https://slack.example/hunter2',
  TEAMS_WORKFLOW_URL: 'https://teams.example/?sig=hunter2',
  SLACK_BOT_TOKEN: 'xoxb-hunter2-hunter2',
  INVENTORY_WEBHOOK_SECRET: 'whsec_aG9va3NlY3JldGhvb2tzZWNyZXRob29rc2VjcmV0',
}

afterAll(() => rmSync(folder, { recursive: true }))

function write(name: string, content: unknown): string {
  const file = join(folder, name)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

const play = (words: string[], env: Record<string, string>) =>
  playCommand('check-config', checkConfig, words, env)

/** As an owner does; the rest is played without a process, as that takes long. */
function start(words: string[], env: Record<string, string> = {}) {
  return new Promise<{ code: number; out: string; err: string }>((resolve) => {
    const args = ['infra/foghorn.mjs', 'check-config', ...words]
    const options = { cwd: root, env: { PATH: process.env.PATH ?? '', ...ofRun(), ...env } }
    execFile(process.execPath, args, options, (error, out, err) => {
      resolve({ code: Number(error?.code ?? 0), out, err })
    })
  })
}

async function run(words: string[], env: Record<string, string> = {}) {
  const { code, out, err } = await play(words, env)
  for (const line of `${out}${err}`.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
  for (const secret of [/hunter2/, /MfKQ9/, /aG9va3/, /0123456789abcdef/]) {
    expect(`${out}${err}`).not.toMatch(secret)
  }
  return { code, out, err }
}

/** As one line: where a sentence wraps, is no matter. */
const flat = (text: string) => text.replace(/\s+/g, ' ')

describe('the command', () => {
  const cases: [string, string[], Record<string, string>][] = [
    ['a right configuration', [example], environment],
    ['a wrong one', [example], {}],
    ['words that it does not know', ['--nonsense'], {}],
  ]
  test.each(cases)('prints for %s the same as without a process', async (_, words, env) => {
    expect(await start(words, env)).toEqual(await play(words, env))
  })
})

test('a reader that ends early, as head does, is no mistake', async () => {
  const args = ['infra/foghorn.mjs', 'check-config', example, '--without-env']
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  let err = ''
  child.stderr.on('data', (part) => {
    err += part
  })
  const [code] = await once(child, 'close')
  expect([code, err]).toEqual([0, ''])
})

describe('a configuration', () => {
  test('that is right ends it with code 0', async () => {
    const own = JSON.parse(readFileSync(join(root, example), 'utf8'))
    const file = write('own.json', { ...own, publicUrl: 'https://foghorn.example.org' })
    const { code, out, err } = await run([file], environment)
    expect([code, err]).toEqual([0, ''])
    expect(flat(out)).toContain('1 fleet, 5 channels, 4 rules, 5 routes; no mistakes, no warnings')
  })

  test('with warnings does, too', async () => {
    const policy = [{ match: {}, decide: 'approve' }]
    const channels = { chat: { kind: 'slack', url: 'env:SLACK_WEBHOOK_URL' } }
    const routes = [{ match: {}, channels: ['chat'] }]
    const fleets = { prod: { key: 'env:PROD_FLEET_KEY' } }
    const config = { publicUrl: 'http://localhost:7071', fleets, channels, policy, routes }
    const file = write('warned.json', config)
    const { code, out } = await run([file], environment)
    expect(code).toBe(0)
    expect((await run([file, '--strict'], environment)).code).toBe(1)
    expect(flat(out)).toContain('no mistakes, 4 warnings')
    for (const path of ['publicUrl', 'owners', 'channels.chat', 'policy[0]'])
      expect(out).toContain(`  - ${path}: `)
  })

  test('with mistakes ends it with code 2, each with path and remedy', async () => {
    const file = write('wrong.json', {
      publicUrl: 'x',
      fleets: {},
      channels: {},
      routes: [],
      rotes: 1,
    })
    const { code, out, err } = await run([file])
    expect([code, out]).toEqual([2, ''])
    expect(flat(err)).toContain('has 5 mistakes: - publicUrl: write an https:// address')
    expect(flat(err)).toContain('did you mean "routes"?')
  })

  test('has mistakes on a host that cannot do what it asks for', async () => {
    const own = JSON.parse(readFileSync(join(root, example), 'utf8'))
    const signIn = { tenantId: '1e6d2f1c-0a4b-4c57-9b1e-5c2f0d9a7e11' }
    const mail = {
      kind: 'mail',
      server: 'smtp.example.com',
      from: 'a@b.example',
      to: 'c@d.example',
    }
    own.channels.mails = { ...mail, fallback: 'ops-slack' }
    const file = write('signed-in.json', { ...own, signIn, allowNetworks: ['10.0.0.0/8'] })
    const on = async (host: string, more = {}) => {
      const { code, err } = await run([file, '--host', host], { ...environment, ...more })
      return [code, flat(err)]
    }
    expect(await on('azure')).toEqual([0, ''])
    expect(await on('node')).toEqual([2, expect.stringContaining('signIn: App Service Auth')])
    expect(await on('node', { WEBSITE_AUTH_ENABLED: 'true' })).toEqual([0, ''])
    expect(await on('cloudflare')).toEqual([2, expect.stringContaining('has 3 mistakes:')])
    expect((await on('cloudflare'))[1]).toContain('channels.mails: a Worker cannot speak SMTP')
    expect(await on('nodes')).toEqual([2, expect.stringContaining('did you mean "node"?')])
  })

  test('shows the requests of its templates, without secrets', async () => {
    const own = JSON.parse(readFileSync(join(root, example), 'utf8'))
    const settings = { key: 'hunter2-hunter2' }
    own.channels.jsm = { kind: 'http', preset: 'jsm', settings, fallback: 'ops-slack' }
    const url = 'https://chat.example/v1/spaces/hunter2?token=hunter2-hunter2'
    own.channels.chat = { kind: 'http', preset: 'google-chat', url, fallback: 'ops-slack' }
    const { code, out } = await play([write('http.json', own), '--requests'], environment)
    expect(code).toBe(0)
    expect(out.slice(out.indexOf('channels.jsm, trigger:'))).not.toContain('hunter2')
    for (const said of [
      'channels.jsm, trigger:\n  POST https://api.atlassian.com/jsm/ops/integration/v2/alerts\n',
      '  authorization: [secret]\n',
      '    "alias": "foghorn:prod:test-request:1",\n',
      'channels.jsm, resolve:\n',
      'channels.chat, each message:\n  POST [secret]&messageReplyOption=',
    ]) {
      expect(out).toContain(said)
    }
  })

  test('that has secrets: the places, and no secret', async () => {
    const own = JSON.parse(readFileSync(join(root, example), 'utf8'))
    own.publicUrl = 'https://foghorn.example.org'
    own.fleets.prod.key = environment.PROD_FLEET_KEY
    own.channels['ops-slack'].url = environment.SLACK_WEBHOOK_URL
    const { out } = await run([write('secrets.json', own), '--without-env'], {})
    expect(flat(out)).toContain('no mistakes, 1 warning ')
    expect(flat(out)).toContain('fleets.prod.key, channels.ops-slack.url: everybody who reads')
  })

  test('that lacks a channel of the running relay: how many open events were sent there', async () => {
    const answers: Record<string, object> = {
      '/v1/channels': { channels: [{ name: 'ops-slack' }, { name: 'old' }, { name: 'older' }] },
      '/v1/events scheduled': { events: [{ fleet: 'prod', eventId: 'a' }], cursor: 'more' },
      '/v1/events scheduled more': { events: [{ fleet: 'prod', eventId: 'b', outcome: 'lost' }] },
      '/v1/events started': { events: [{ fleet: 'prod', eventId: 'c' }] },
      '/v1/events/prod/a': { deliveries: [{ channel: 'old' }, { channel: 'old' }] },
      '/v1/events/prod/c': { deliveries: [{ channel: 'old' }] },
    }
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://relay')
      const asked = [pathname, searchParams.get('phase'), searchParams.get('cursor')]
      const name = asked.filter((one) => one !== null).join(' ')
      const isKnown = request.headers.authorization === `Bearer ${adminKey}` && name in answers
      const body = answers[name] ?? { detail: `no ${name}` }
      response.writeHead(isKnown ? 200 : 401).end(JSON.stringify(body))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const own = JSON.parse(readFileSync(join(root, example), 'utf8'))
    const file = write('own.json', { ...own, publicUrl: 'https://foghorn.example.org' })
    const at = { FOGHORN_URL: `http://127.0.0.1:${port}`, FOGHORN_ADMIN_KEY: adminKey }
    const { code, out } = await run([file, '--relay'], { ...environment, ...at })
    server.close()
    expect(code).toBe(0)
    expect(flat(out)).toContain('no mistakes, 2 warnings')
    expect(flat(out)).toContain('channels.old: this file lacks the channel, and 2 open events had')
    expect(flat(out)).toContain('channels.older: the running relay has this channel')
  })

  test('that is YAML', async () => {
    const text = 'publicUrl: https://x.example\nfleets:\n  prod: {}\n'
    const { code, err } = await run([write('foghorn.yaml', text)])
    expect([code, flat(err)]).toEqual([2, expect.stringContaining('looks like YAML')])
  })

  test('that is no JSON', async () => {
    const { code, err } = await run([write('broken.json', '{ "publicUrl": }')])
    expect(code).toBe(2)
    expect(flat(err)).toContain('not JSON')
  })
})

describe('values that the environment lacks', () => {
  test('are mistakes, as at the start of the relay', async () => {
    const { code, err } = await run([example])
    expect(code).toBe(2)
    expect(flat(err)).toContain('has 6 mistakes')
    expect(flat(err)).toContain('fleets.prod.key: the environment has no PROD_FLEET_KEY; set it')
    expect(flat(err)).toContain('add --without-env to skip such values')
  })

  test('are assumed to be valid with --without-env, and listed', async () => {
    const { code, out } = await run([example, '--without-env'], {
      PROD_FLEET_KEY: environment.PROD_FLEET_KEY,
    })
    expect(code).toBe(0)
    const names = Object.keys(environment).slice(1).join(', ')
    expect(flat(out)).toContain(
      `Missing in the environment, so not checked (--without-env): ${names}`,
    )
    expect(out).not.toContain('PROD_FLEET_KEY')
  })

  test('those that it has are checked all the same', async () => {
    const { code, err } = await run([example, '--without-env'], { SLACK_WEBHOOK_URL: 'hunter2' })
    expect(code).toBe(2)
    expect(flat(err)).toContain('channels.ops-slack.url: write an absolute https:// address')
  })
})

/** The cells of each moment: on-call, ops-slack, ops-teams, db-slack, inventory. */
function cellsOf(text: string): string[][] {
  const rows = text.matchAll(/^ {2}(\w+(?: \d+ s)?) {2,}([●·](?: +[●·])+)$/gm)
  return [...rows].map(([, moment, cells]) => [moment!, ...cells!.split(/ +/)])
}

describe('a dry run', () => {
  const dry = (...words: string[]) => run([example, ...words], environment)

  test('by options', async () => {
    const words = '--type reboot --source Platform --resource web_3 --fleet prod --duration 30'
    const vm = '--tag role=web --scale-set web --resource-group rg'
    const { code, out } = await dry(...`${words} ${vm}`.split(' '))
    expect(code).toBe(0)
    expect(out).toContain(
      'Dry run: Reboot of web_3 in fleet "prod", source Platform, duration 30 s',
    )
    expect(out).toContain('Policy: ask, by policy[3] "everything else"')
    expect(flat(out)).toContain(
      '"started by a user" does not match: source is "Platform", not "User"',
    )
    expect(cellsOf(out)).toContainEqual(['scheduled', '●', '●', '●', '·', '●'])
    expect(cellsOf(out)).toContainEqual(['reminder 300 s', '●', '●', '·', '·', '·'])
    expect(out).not.toContain('unknown')
  })

  test('a Freeze wakes nobody, however long it takes', async () => {
    for (const duration of ['-1', '30']) {
      const { out } = await dry('--type', 'Freeze', `--duration=${duration}`, '--resource', 'web_3')
      expect(out).toContain('Policy: ask')
      expect(cellsOf(out).map(([, onCall]) => onCall)).toEqual(Array(10).fill('·'))
    }
  })

  test('the database team is notified of its own VMs, and on-call if nobody decides', async () => {
    const words = '--type Reboot --resource db_0 --tag role=database'.split(' ')
    const { out } = await dry(...words)
    expect(cellsOf(out)).toContainEqual(['scheduled', '·', '·', '·', '●', '●'])
    expect(cellsOf(out)).toContainEqual(['reminder 300 s', '●', '●', '·', '·', '·'])
    expect(flat(out)).toContain(
      'on-call is notified of approved, declined, completed, cancelled and lost only',
    )
    expect(flat(out)).toContain('until then "scheduled" goes to on-call, ops-slack, ops-teams and')
  })

  test('of a file', async () => {
    const one = { EventType: 'Freeze', Resources: ['web_0'], DurationInSeconds: 5 }
    const { code, out } = await dry('--event', write('event.json', one))
    expect(code).toBe(0)
    expect(out).toContain('Policy: approve, by policy[1] "short freeze"')
    expect(flat(out)).toContain('NotBefore is assumed to be 900 s ahead')
  })
})

describe('wrong words end it with code 2 and what to write', () => {
  test.each<[string[], ...string[]]>([
    [[], 'FILE is missing; write npm run check-config -- FILE'],
    [['nowhere.json'], 'there is no file "nowhere.json"', 'write a path relative to'],
    [['infra'], `cannot read "infra"`],
    [[example, '--typ', 'Reboot'], 'unknown option --typ; did you mean --type?'],
    [[example, '--event', 'nowhere.json'], '--event: there is no file "nowhere.json"'],
    [[example, '--event', write('odd.json', { type: 'Reboot' })], 'EventType is missing; write'],
  ])('%j', async (words, ...said) => {
    const { code, out, err } = await run(words, environment)
    expect([code, out]).toEqual([2, ''])
    for (const part of said) expect(flat(err)).toContain(part)
  })
})

test('--help names every option', async () => {
  const { code, out } = await run(['--help'])
  expect(code).toBe(0)
  const flags = [
    'without-env',
    'event',
    'type',
    'source',
    'resource',
    'duration',
    'notice',
    'fleet',
  ]
  for (const flag of [...flags, 'tag', 'scale-set', 'resource-group']) {
    expect(out).toContain(`--${flag}`)
  }
})
