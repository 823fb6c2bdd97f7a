import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

const { FOGHORN_URL, FOGHORN_TOKEN, DRAIN = './drain' } = process.env
const handled = new Set<string>() // people decide the events whose drain failed
async function ask(path: string, body?: object) {
  const headers = { authorization: `Bearer ${FOGHORN_TOKEN}` }
  const init = body && { method: 'POST', body: JSON.stringify(body) }
  const answer = await fetch(`${FOGHORN_URL}/v1/events${path}`, { headers, ...init })
  if (!answer.ok && answer.status !== 409) throw new Error(`HTTP ${answer.status} for ${path}`)
  return answer.json()
}
interface Open {
  fleet: string
  eventId: string
  epoch: number
  policy: { decide: string }
  approvals: { expiredAt?: string }[]
  outcome?: string
  resources: string[]
}
async function drainNext() {
  const { events } = (await ask('?phase=scheduled&limit=200')) as { events: Open[] }
  for (const { fleet, eventId, epoch, policy, approvals, outcome, resources } of events) {
    const path = `/${encodeURIComponent(fleet)}/${encodeURIComponent(eventId)}`
    const isDecided = approvals.some(({ expiredAt }) => expiredAt === undefined)
    if (policy.decide !== 'ask' || isDecided || outcome || handled.has(path + epoch)) continue
    const drained = spawnSync(DRAIN, resources, { stdio: ['ignore', 2, 2], timeout: 300_000 })
    if (drained.status === 0) await ask(`${path}/decision`, { decision: 'approve' })
    handled.add(path + epoch)
  }
}
for (;;) {
  await drainNext().catch((error) => process.stderr.write(`${error}\n`)) // the next round asks again
  await sleep(5_000)
}
