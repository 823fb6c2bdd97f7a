// The relay process is killed with SIGKILL again and again, each time right after another of its steps,
// and started again on the same file. All that is repeated is what a crash between sending and
// recording may repeat: a Slack or Teams message, at most one for each kill.
import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { Row } from '../support/deliveries.ts'
import { accepted, kinds, postDecision, told } from '../support/expect.ts'
import type { Entry } from '../support/process.ts'
import { type Stage, startStage } from '../support/stage.ts'
import { hostsToTry } from '../support/whole.ts'

let stage: Stage

afterEach(() => stage.stop())

const steps = ['event_stepped', 'delivered', 'event_decided', 'event_concluded']
const maxKillsPerStep = 3
const maxStarts = 5

/** On Azure another instance has to wait for the end of each lease: one kill for each kind of step will do. What
 * time concludes may come with a report, and is no step of its own then. */
const plans = {
  node: {
    kills: 6,
    nameOf: ({ event, moment, moments }: Entry) => `${event} ${moment ?? moments}`,
  },
  azure: { kills: 3, nameOf: ({ event }: Entry) => `${event}` },
  /** A start takes seconds here. */
  cloudflare: { kills: 3, nameOf: ({ event }: Entry) => `${event}` },
}

test.each(hostsToTry)(
  'killed after any step on %s, nothing is lost and hardly anything repeated',
  {
    timeout: 420_000,
  },
  async (host) => {
    const kills = new Map<string, number>()
    let restarts = Promise.resolve()
    let isOver = false
    const onEntry = (program: string, entry: Entry) => {
      if (isOver || program !== 'relay' || !steps.includes(entry.event)) return
      const step = plans[host].nameOf(entry)
      const count = kills.get(step) ?? 0
      const most = host === 'node' && entry.event === 'delivered' ? maxKillsPerStep : 1
      if (count >= most) return
      const relay = stage.relay!
      if (!relay.running) return
      kills.set(step, count + 1)
      relay.kill('SIGKILL')
      restarts = restarts.then(async () => {
        await relay.exited
        await startAgain()
      })
    }
    stage = await startStage({ vms: [['web_0', 'web_1', 'web_2']], host, onEntry })
    await stage.startRelay()
    await stage.startBeacons()
    const eventId = stage.simulator.createEvent({
      EventType: 'Reboot',
      Resources: ['web_1'],
      impactSeconds: 6,
    })
    const link = await stage.approveLink(eventId)
    await decideWhenItLives(link)
    await told(stage, 'completed', 300_000)
    // a relay that is started anew logs further steps
    isOver = true
    await restarts
    const total = [...kills.values()].reduce((sum, count) => sum + count, 0)
    expect(total).toBeGreaterThanOrEqual(plans[host].kills)
    const record = await stage.settledEvent(eventId)
    const moments = ['scheduled', 'approved', 'started', 'completed']
    for (const { channel, moment, state } of record.deliveries) {
      // what waited while the relay was dead may have been overtaken by the next step
      const states = channel === 'system' ? ['delivered'] : ['delivered', 'superseded']
      expect(states, `${moment} to ${channel}`).toContain(state)
    }
    for (const kind of kinds) {
      const got = accepted(stage, kind).length
      const channel = { slack: 'chat', teams: 'team', pagerduty: 'pager', webhook: 'system' }[kind]
      const owed = record.deliveries.filter((row: Row) => row.channel === channel)
      const delivered = owed.filter(({ state }: Row) => state === 'delivered')
      expect(delivered.at(-1)?.moment, kind).toBe('completed')
      expect(got, kind).toBeGreaterThanOrEqual(delivered.length)
      expect(got, kind).toBeLessThanOrEqual(moments.length + total)
    }
    // where there is an idempotency key, a repetition carries the same
    expect(stage.sinks.webhookIds().size).toBe(moments.length)
    const incidents = [...stage.sinks.incidents().values()]
    expect(incidents.map(({ state, opened }) => ({ state, opened }))).toEqual([
      { state: 'resolved', opened: 1 },
    ])
  },
)

/**
 * It may be killed again before it said that it started: that kill starts it again. If it ended by
 * itself, as another one may still have the port or the files for a moment, it is started again here.
 */
async function startAgain(): Promise<void> {
  for (let tries = 1; ; tries++) {
    const outcome = await stage.startRelay().catch((error: Error) => error)
    const { running, wasKilled } = stage.relay!
    if (running || wasKilled) return
    if (tries === maxStarts) throw outcome
  }
}

/** A person tries again where the page does not answer. */
async function decideWhenItLives(link: string): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const answer = await postDecision(link).catch(() => undefined)
    if (answer?.ok) return
    if (!stage.relay!.running) await stage.relay!.exited
    await setImmediate()
    // it may be killed meanwhile, and a start may take longer than this waits
    await stage.relay!.waitFor(stage.started).catch(() => {})
  }
  throw new Error('the relay never answered')
}
