import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

interface Event {
  fleet: string
  eventId: string
  epoch: number
  phase: string
  outcome?: string
  drill?: object
  policy: { decide: string }
  approvals: { expiredAt?: string }[]
  resources: string[]
}
const { FOGHORN_URL, FOGHORN_TOKEN, DRAIN = './drain' } = process.env
const handled = new Set<string>() // people decide the events whose drain failed
const longestNoticeMs = 8 * 86_400_000 // Azure announces events at most 7 days ahead

async function ask<Answer>(path: string, body?: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${FOGHORN_TOKEN}` }
  const init = body && { method: 'POST', body: JSON.stringify(body) }
  const answer = await fetch(`${FOGHORN_URL}/v1/events${path}`, { headers, ...init })
  if (!answer.ok && answer.status !== 409) throw new Error(`HTTP ${answer.status} for ${path}`)
  return (await answer.json()) as Answer
}
const waits = ({ phase, outcome, drill, policy, approvals }: Event) =>
  drill === undefined && // a drill must drain no VM
  phase === 'scheduled' &&
  outcome === undefined &&
  policy.decide === 'ask' &&
  approvals.every(({ expiredAt }) => expiredAt !== undefined)

async function drainNext() {
  const since = new Date(Date.now() - longestNoticeMs).toISOString()
  for (let more = ''; ; ) {
    const list = `?phase=scheduled&since=${since}${more}`
    const { events, cursor } = await ask<{ events: Event[]; cursor?: string }>(list)
    const next = events.find((one) => waits(one) && !handled.has(one.eventId + one.epoch))
    if (next !== undefined) return drain(next)
    if (cursor === undefined) return
    more = `&cursor=${encodeURIComponent(cursor)}`
  }
}
async function drain({ fleet, eventId, epoch, resources }: Event) {
  const drained = spawnSync(DRAIN, resources, { stdio: ['ignore', 2, 2], timeout: 300_000 })
  if (drained.status === 0) {
    // people may have decided meanwhile, and Azure may have added a VM
    const path = `/${encodeURIComponent(fleet)}/${encodeURIComponent(eventId)}`
    const now = await ask<Event>(path)
    const isSame = now.epoch === epoch && now.resources.join() === resources.join()
    if (!waits(now) || !isSame) return
    await ask(`${path}/decision`, { decision: 'approve' })
  }
  if (drained.status !== 0) process.stderr.write(`${DRAIN}: ${drained.error ?? drained.status}\n`)
  handled.add(eventId + epoch)
}
for (;;) {
  await drainNext().catch((error) => process.stderr.write(`${error}\n`)) // the next round asks again
  await sleep(5_000)
}
