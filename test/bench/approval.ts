// From the click on the page to the StartRequests at Azure: beacons wait at the relay while a decision
// is near, and the approval goes to the first that comes back.
import { setTimeout as sleep } from 'node:timers/promises'
import type { HostName } from '../support/relay-hosts.ts'
import { startStage } from '../support/stage.ts'
import { submit } from '../support/submit.ts'
import { type Figure, spread } from './figures.ts'

const events = 40
const limitMs = 15_000

export async function approval(host: HostName = 'node'): Promise<Figure[]> {
  const stage = await startStage({ vms: [['web_0', 'web_1', 'web_2']], host })
  const { simulator } = stage
  try {
    await stage.startRelay()
    await stage.startBeacons()
    const answered: number[] = []
    const started: number[] = []
    for (let i = 0; i < events; i++) {
      const eventId = simulator.createEvent({
        EventType: 'Freeze',
        Resources: ['web_1'],
        impactSeconds: 1,
      })
      // chats gather what comes fast into lists
      const asked = await stage.sinks.waitFor(
        ({ kind, body }) => kind === 'pagerduty' && body.includes(eventId.toLowerCase()),
        limitMs,
      )
      const link = JSON.parse(asked.body).client_url
      // a person reads before the click, and clicks anywhere between two reports
      await sleep(2_000 + Math.random() * 2_000)
      const clickedAt = Date.now()
      await submit(link, 'approve')
      answered.push(Date.now() - clickedAt)
      const isOwn = (one: { eventId: string }) =>
        one.eventId.toLowerCase() === eventId.toLowerCase()
      await simulator.waitFor(() => simulator.startRequests().some(isOwn), limitMs)
      started.push(simulator.startRequests().find(isOwn)!.at - clickedAt)
    }
    return [
      ...spread('click to answer', answered),
      ...spread('click to StartRequests, 3 beacons', started),
    ]
  } finally {
    await stage.stop()
  }
}
