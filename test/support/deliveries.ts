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

/** What reached a channel, as text. */
export function textsTo(world: World, host: string, from = 0): string[] {
  return sentTo(world, host, from).map(({ body }) => body)
}

/** Words by which a fallback's messages are known: the golden messages have the whole of them. */
export const words = {
  refuses: 'refuses all messages',
  unreachable: 'cannot be reached',
  inPlace: 'has not accepted it',
}

/** What became of each step for a channel. */
export async function statesOf(world: World, channel: string): Promise<[string, string][]> {
  return (await rowsOf(world, channel)).map(({ moment, state }) => [moment, state])
}

/** One host answers so; the others as usual. */
export function answer(world: World, host: string, make: () => Response): void {
  world.channels.answer = (request) =>
    request.url.includes(`//${host}.`) ? make() : usualAnswer(request)
}

/** As Slack says that a webhook was removed. */
export const gone = () => new Response('no_service', { status: 404 })

export const down = () => new Response('down', { status: 503 })

/** Lets time pass in steps, as a host's timer does. */
export async function passInSteps(world: World, totalMs: number, stepMs: number): Promise<void> {
  for (let passed = 0; passed < totalMs; passed += stepMs) await world.pass(stepMs)
}

/** Ids of events, where a test has several. */
export function idOf(i: number): string {
  return `c7061bac-afdc-4513-b24b-${String(i).padStart(12, '0')}`
}
