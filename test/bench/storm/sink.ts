// Where the messages of a storm go: takes webhooks, and remembers when the first of each kind came for
// each event. Cheap, because it shares a core with the load.
import { createServer } from 'node:http'
import { close, HOST, listen, readBody } from '../../simulator/http.ts'
import { Waiters } from '../../simulator/waiters.ts'

const maxBodyBytes = 1024 * 1024

/** What a target's message is about. */
type ReadMessage = (message: ReturnType<typeof JSON.parse>) => {
  eventId: string
  moment: string
}

export type StormSink = Awaited<ReturnType<typeof startStormSink>>

export async function startStormSink(read: ReadMessage) {
  /** By event, moment and then all times of receipt, by `performance.now()`. */
  const received = new Map<string, Map<string, number[]>>()
  const waiters = new Waiters()
  const take = (body: string | null) => {
    const { eventId, moment } = read(JSON.parse(body ?? 'null'))
    const moments = received.get(eventId) ?? new Map<string, number[]>()
    received.set(eventId, moments)
    moments.set(moment, [...(moments.get(moment) ?? []), performance.now()])
    waiters.changed()
  }
  const server = createServer(async (request, response) => {
    take(await readBody(request, maxBodyBytes))
    response.writeHead(200, { 'content-length': 0 }).end()
  })
  const port = await listen(server, 0)
  const timesOf = (eventId: string, moment: string) => received.get(eventId)?.get(moment) ?? []

  return {
    url: `http://${HOST}:${port}/`,
    firstAt: (eventId: string, moment: string) => timesOf(eventId, moment)[0] ?? Number.NaN,

    /** Until each event was told each of these moments; throws where one was told twice. */
    async told(eventIds: string[], moments: readonly string[], timeoutMs: number): Promise<void> {
      const pairs = eventIds.flatMap((id) => moments.map((moment) => ({ id, moment })))
      const missing = () => pairs.filter(({ id, moment }) => timesOf(id, moment).length === 0)
      const describe = () => `${missing().length} of ${pairs.length} messages are missing`
      await waiters.until(() => missing().length === 0 || undefined, timeoutMs, describe)
      const twice = pairs.find(({ id, moment }) => timesOf(id, moment).length > 1)
      if (twice) throw new Error(`${twice.id} was told twice that it is ${twice.moment}`)
    },

    stop: () => close(server),
  }
}
