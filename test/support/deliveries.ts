// What was owed to the channels of a world, what reached them, and what they answer.
import { eventId, type Sent, usualAnswer, type World } from './world.ts'

export interface Row {
  channel: string
  moment: string
  state: string
  attempts: number
  note: string
}

/** What became of a channel's messages, but for "lost" where a test lets hours pass without a report. */
export async function rowsOf(world: World, channel: string): Promise<Row[]> {
  const { body } = await world.getEvent(eventId)
  return body.deliveries.filter((row: Row) => row.channel === channel && row.moment !== 'lost')
}

/** Requests that reached a channel since the world began, or since `from`. */
export function sentTo(world: World, host: string, from = 0): Sent[] {
  return world.sent.slice(from).filter(({ url }) => url.includes(`//${host}.`))
}

/** One host answers so; the others as usual. */
export function answer(world: World, host: string, make: () => Response): void {
  world.channels.answer = (request) =>
    request.url.includes(`//${host}.`) ? make() : usualAnswer(request)
}

export const down = () => new Response('down', { status: 503 })

/** Lets time pass in steps, as a host's timer does. */
export async function passInSteps(world: World, totalMs: number, stepMs: number): Promise<void> {
  for (let passed = 0; passed < totalMs; passed += stepMs) await world.pass(stepMs)
}
