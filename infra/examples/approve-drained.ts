import { spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'

const { FOGHORN_TOKEN = '', DRAIN = './drain' } = process.env
for await (const line of createInterface({ input: process.stdin })) {
  const { moment, policy, resources, links } = JSON.parse(line)
  if (moment !== 'scheduled' || policy.decide !== 'ask') continue
  const drained = spawnSync(DRAIN, resources, { stdio: ['ignore', 2, 2], timeout: 300_000 })
  if (drained.status !== 0) continue // people decide
  const answer = await fetch(`${links.api}/decision`, {
    method: 'POST',
    headers: { authorization: `Bearer ${FOGHORN_TOKEN}` },
    body: JSON.stringify({ decision: 'approve' }),
  })
  process.stderr.write(`${links.api}: HTTP ${answer.status}\n`)
}
