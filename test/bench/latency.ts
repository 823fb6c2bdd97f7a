// From the moment Azure's document changes to the moment a webhook has the message, with beacons that poll
// once a second: half of it on average is waiting for the next poll, the rest is Foghorn's. That rest
// is counted where the VM that is hit reported first, as it does at once. Another VM that polled
// earlier waits up to 2 s, so it comes first only if the VM that is hit polls even later.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Program } from '../support/process.ts'
import type { HostName } from '../support/relay-hosts.ts'
import { startStage } from '../support/stage.ts'
import { type Figure, spread } from './figures.ts'

const events = 40

export async function latency(host: HostName = 'node'): Promise<Figure[]> {
  const stage = await startStage({ vms: [['web_0', 'web_1', 'web_2']], host })
  try {
    const relay = await stage.startRelay()
    const [, hit] = (await stage.startBeacons()) as [Program, Program]
    const whole: number[] = []
    const afterPoll: number[] = []
    for (let i = 0; i < events; i++) {
      // anywhere between two polls
      await sleep(Math.random() * 1_000)
      const createdAt = Date.now()
      const eventId = stage.simulator.createEvent({ EventType: 'Reboot', Resources: ['web_1'] })
      const id = eventId.toLowerCase()
      const message = await stage.sinks.waitFor(
        ({ kind, body }) => kind === 'webhook' && body.includes(id),
        10_000,
      )
      whole.push(message.at - createdAt)
      const step = await relay.waitFor('event_stepped', (entry) => entry.eventId === id)
      if (step.vm === hit.name) {
        const seen = await hit.waitFor('event_seen', (entry) => entry.eventId === id)
        afterPoll.push(message.at - Date.parse(seen.time))
      }
      stage.simulator.cancelEvent(eventId)
    }
    const share = { name: 'first reported by the VM that is hit', unit: '%' }
    return [
      ...spread('IMDS change to message', whole),
      ...spread('poll to message', afterPoll),
      { ...share, value: (100 * afterPoll.length) / events },
    ]
  } finally {
    await stage.stop()
  }
}
