// The limit of a fan-out, as a process of its own: undici posts the bytes that the relay posted to the
// same sinks, over as many connections, and keeps no books. Its argument is a file with the plan.
import { readFileSync } from 'node:fs'
import { Agent, fetch } from 'undici'
import type { Captured } from './sinks.ts'

/** `request` is undici's quickest way that reads an answer; `fetch` is the usual one. */
export const ways = ['request', 'fetch'] as const

export interface BarePlan {
  urls: string[]
  connections: number
  posts: Captured[]
}

type Post = (agent: Agent, url: string, captured: Captured) => Promise<number>

const post: Record<(typeof ways)[number], Post> = {
  async request(agent, url, { headers, body }) {
    const answer = await agent.request({ origin: url, path: '/', method: 'POST', headers, body })
    await answer.body.dump()
    return answer.statusCode
  },
  async fetch(dispatcher, url, { headers, body }) {
    const answer = await fetch(url, { method: 'POST', headers, body, dispatcher })
    await answer.text()
    return answer.status
  },
}

if (import.meta.main) {
  const [, , file = '', way = ways[0]] = process.argv
  const { urls, connections, posts } = JSON.parse(readFileSync(file, 'utf8')) as BarePlan
  const agent = new Agent({ connections })
  const startedAt = performance.now()
  const cpu = process.cpuUsage()
  const send = post[way as (typeof ways)[number]]
  await Promise.all(urls.map((url) => postAll((one) => send(agent, url, one), posts, connections)))
  const seconds = (performance.now() - startedAt) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  await agent.close()
  const cpuSeconds = (user + system) / 1e6
  process.stdout.write(`${JSON.stringify({ event: 'posted', seconds, cpuSeconds })}\n`)
}

async function postAll(
  send: (post: Captured) => Promise<number>,
  posts: Captured[],
  connections: number,
): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < posts.length) {
      const status = await send(posts[next++]!)
      if (status !== 200) throw new Error(`the sink answered ${status}`)
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
}
