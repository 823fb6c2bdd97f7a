// The drill with every part real: the command as a process, a relay process, a beacon that runs, and channels that
// answer like the real ones.
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { accepted, expectExactly, kinds, postDecision } from '../support/expect.ts'
import { Program } from '../support/process.ts'
import { fleetName, linkIn, type Stage, startStage } from '../support/stage.ts'
import { hostsToTry } from '../support/whole.ts'

let stage: Stage

afterEach(() => stage.stop())

/** `environment` beside what an owner has set; as they run it, and until it ends. */
async function drill(words: string[], environment: Record<string, string> = {}) {
  const own = {
    FOGHORN_ADMIN_KEY: stage.secrets.adminKey,
    FOGHORN_URL: stage.relayUrl,
    ...environment,
  }
  const program = new Program('drill', 'infra/foghorn.mjs', own, () => {}, ['drill', ...words])
  stage.programs.push(program)
  const [{ code }] = await Promise.all([program.exited, program.ended])
  return { code, output: program.output, flat: program.output.replace(/\s+/g, ' ') }
}

const least = ['--fleet', 'demo', '--type', 'Reboot']

describe('a drill that works', () => {
  test.each(hostsToTry)(
    'approved by a person, on %s: marked on all channels, resolved, and Azure hears nothing',
    {
      timeout: 60_000,
    },
    async (host) => {
      stage = await startStage({ vms: [['web_0', 'web_1']], host })
      await stage.startRelay()
      await stage.startBeacons()
      const running = drill([...least, '--resource', 'web_1', '--impact', '1'])
      const message = await stage.sinks.waitFor(({ kind }) => kind === 'slack', 15_000)
      const link = linkIn(message)
      expect(await (await fetch(link)).text()).toContain('This is a drill: no VM is touched.')
      await postDecision(link)
      const { code, output, flat } = await running
      expect(output).toMatch(/^Drill drill-[0-9a-f-]{36} started on http:\/\/127\.0\.0\.1:/)
      expect(flat).toContain('Policy: ask, because no rule matches.')
      for (const channel of ['chat', 'team', 'pager', 'system']) {
        for (const moment of ['scheduled', 'approved', 'started', 'completed']) {
          expect(output).toMatch(
            new RegExp(`\\d\\d:\\d\\d:\\d\\dZ    ✓ ${channel}: "${moment}" delivered \\(`),
          )
        }
      }
      expect(output).toMatch(/approved \(link: chat\)/)
      expect(flat).toContain(
        'Drill: completed; 16 of 16 messages delivered on 4 channels: chat, team, pager, system',
      )
      expect(code).toBe(0)
      const id = /drill-[0-9a-f-]{36}/.exec(output)![0]
      await expectExactly(stage, id, ['scheduled', 'approved', 'started', 'completed'])
      for (const kind of kinds) {
        for (const { body, json } of accepted(stage, kind)) {
          const { event_action: action } = json as { event_action?: string }
          if (kind === 'webhook') expect(json).toMatchObject({ data: { drill: true } })
          else if (action === undefined || action === 'trigger') expect(body).toContain('DRILL: ')
        }
      }
      expect(stage.simulator.startRequests()).toEqual([])
      for (const secret of [stage.secrets.adminKey, link]) expect(output).not.toContain(secret)
    },
  )

  test('nobody decides, and a real event beside it is started as ever', {
    timeout: 60_000,
  }, async () => {
    stage = await startStage({ vms: [['web_0']] })
    await stage.startRelay()
    await stage.startBeacons()
    // found by the configuration that the relay has
    const config = join(stage.directory, 'foghorn.config.json')
    const running = drill([...least, '--config', config, '--notice', '3', '--impact', '1'], {
      FOGHORN_URL: '',
    })
    const eventId = stage.simulator.createEvent({ Resources: ['web_0'], impactSeconds: 1 })
    // the two may come in one message, whose link is that of both
    const path = `/v1/events/${fleetName}/${eventId.toLowerCase()}/decision`
    const decide = async () =>
      (
        await fetch(`${stage.relayUrl}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${stage.secrets.adminKey}` },
          body: '{"decision":"approve"}',
        })
      ).status
    await expect.poll(decide).toBe(200)
    const { code, flat } = await running
    expect([code, flat]).toEqual([0, expect.stringContaining('12 of 12 messages delivered')])
    await stage.settledEvent(eventId)
    const started = stage.simulator.startRequests().map((one) => one.eventId.toLowerCase())
    expect(new Set(started)).toEqual(new Set([eventId.toLowerCase()]))
  })
})

describe('a drill that shows what is broken', () => {
  test('a channel that refuses: code 1, and what to look at', { timeout: 60_000 }, async () => {
    stage = await startStage({ vms: [['web_0']] })
    await stage.startRelay()
    stage.sinks.failNext({ kind: 'teams', status: 404, times: 100 })
    const { code, flat } = await drill([...least, '--notice', '2', '--impact', '1'])
    expect(flat).toMatch(
      /- team: "scheduled", "started", "completed" refused \(HTTP 404.*?\); check the address/,
    )
    expect(flat).toContain(
      'Drill: completed; 9 of 12 messages delivered on 3 of 4 channels: chat, pager, system',
    )
    expect(code).toBe(1)
  })

  test('what is written wrongly is said with what to write', { timeout: 60_000 }, async () => {
    stage = await startStage({ vms: [['web_0']] })
    await stage.startRelay()
    const rows: [
      words: string[],
      environment: Record<string, string>,
      code: number,
      says: string,
    ][] = [
      [
        ['--fleet', 'dmeo', '--type', 'Reboot'],
        {},
        2,
        '--fleet: there is no fleet "dmeo"; write one of "demo"; did you mean "demo"?',
      ],
      [['--fleet', 'demo', '--type', 'Rebot'], {}, 2, 'did you mean "Reboot"?'],
      [
        [...least, '--notice', '7200'],
        {},
        2,
        '--notice: write a whole number of seconds from 0 to 3600',
      ],
      [least, { FOGHORN_ADMIN_KEY: 'wrong' }, 2, 'rejects this FOGHORN_ADMIN_KEY; set the key'],
      [least, { FOGHORN_ADMIN_KEY: '' }, 2, 'FOGHORN_ADMIN_KEY is not set'],
      [
        least,
        { FOGHORN_URL: stage.simulator.controlUrl },
        2,
        'is not a relay, or an old one; set FOGHORN_URL',
      ],
      [least, { FOGHORN_URL: 'http://127.0.0.1:9' }, 1, 'cannot reach the relay'],
      [
        least,
        { FOGHORN_URL: '', FOGHORN_CONFIG: 'none.json' },
        2,
        'set FOGHORN_URL to the address of the relay',
      ],
      [['--help'], {}, 0, '--fleet NAME'],
    ]
    for (const [words, environment, code, says] of rows) {
      const ended = await drill(words, environment)
      expect(ended.flat).toContain(says)
      expect([words, ended.code]).toEqual([words, code])
      expect(ended.output).not.toContain(stage.secrets.adminKey)
      expect(ended.output).not.toContain('    at ')
    }
    expect(stage.sinks.received).toEqual([])
  })
})
