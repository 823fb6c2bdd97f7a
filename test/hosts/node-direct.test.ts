// Reports past the routes on Node: no answer leaves before the disk has what it says.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { reportsFirst } from '../../functions/host/node/direct.ts'
import type { Refusal } from '../../functions/http/problem.ts'
import { reportPath } from '../../shared/report.ts'

/** A server whose disk waits until the test ends the wait. */
async function startOnSlowDisk() {
  const disk = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const lines: string[] = []
  const note = (event: string) => void lines.push(event)
  const direct = {
    answerReport: async () => ({ status: 200, headers: {}, body: '{"outcome":"accepted"}' }),
    refused: ({ status, code }: Refusal) => {
      return { status, headers: { 'x-robots-tag': 'noindex' }, body: JSON.stringify({ code }) }
    },
    noteBrokenOff: () => {},
    durable: () => {
      asked.resolve()
      return disk.promise
    },
    log: { debug: note, info: note, warn: note, error: note },
  }
  const server = createServer(reportsFirst(direct, (_, response) => response.end('others')))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const post = () => fetch(`${origin}${reportPath}`, { method: 'POST', body: '{}' })
  const get = async () => (await fetch(origin)).text()
  return { disk, asked, lines, post, get }
}

test('a report is answered once the disk has it', async () => {
  const { disk, asked, post, get } = await startOnSlowDisk()
  const order: string[] = []
  const answered = post().then((answer) => {
    order.push('answered')
    return answer
  })
  await asked.promise
  // an answer that did not wait would arrive before these
  for (let i = 0; i < 3; i++) expect(await get()).toBe('others')
  order.push('durable')
  disk.resolve()
  expect((await answered).status).toBe(200)
  expect(order).toEqual(['durable', 'answered'])
})

test('if the disk fails, the answer is the error of the app, with its headers', async () => {
  const { disk, asked, lines, post } = await startOnSlowDisk()
  const answered = post()
  await asked.promise
  disk.reject(new Error('the disk is gone'))
  const answer = await answered
  expect(answer.status).toBe(500)
  expect(answer.headers.get('x-robots-tag')).toBe('noindex')
  expect(await answer.json()).toEqual({ code: 'internal' })
  expect(lines).toEqual(['request_failed'])
})
