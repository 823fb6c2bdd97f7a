// Subscriptions for tests: how a test makes one, asks about it, and reads what its endpoint got.
import { askApi } from './tokens.ts'
import { adminKey, event, FakeBeacon, type Sent, usualAnswer, type World } from './world.ts'

type Json = ReturnType<typeof JSON.parse>

export const endpoint = 'https://cmdb.example/in'

/** Asks the API about subscriptions; the answer's status and body. */
export async function ask(
  world: World,
  path: string,
  method = 'GET',
  body?: unknown,
  key = adminKey,
): Promise<{ status: number; body: Json }> {
  const response = await askApi(world, key, `/v1/subscriptions${path}`, { method, body })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

/** Makes a subscription, whose endpoint gets its ping. */
export async function subscribe(world: World, wish: object = {}, key = adminKey) {
  const make = () => ask(world, '', 'POST', { url: endpoint, ...wish }, key)
  let { status, body } = await make()
  if (status === 429) {
    // an asker makes 60 in a minute
    world.clock.now += 60_000
    ;({ status, body } = await make())
  }
  if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`)
  await world.drain()
  return body as { id: string; secret: string; state: string }
}

export async function stateOf(world: World, id: string): Promise<string> {
  return (await ask(world, `/${id}`)).body.state
}

/** Requests to an endpoint, in order. */
export function sentToEndpoint(world: World, url = endpoint): Sent[] {
  return world.sent.filter((one) => one.url === url)
}

/** Types of what an endpoint got, without `foghorn.event.`. */
export function heardBy(world: World, url = endpoint): string[] {
  return sentToEndpoint(world, url).map(({ json }) => json.type.replace('foghorn.event.', ''))
}

/** The endpoint answers so; the others as usual. */
export function endpointAnswers(world: World, make: (sent: Sent) => Response | Promise<Response>) {
  world.channels.answer = (sent) => (sent.url === endpoint ? make(sent) : usualAnswer(sent))
}

/** A VM sees `count` new events, one after another. */
export async function happen(world: World, count: number, fleet = {}): Promise<void> {
  const beacon = new FakeBeacon(world, 'web_0', fleet)
  const events = Array.from({ length: count }, (_, i) =>
    event({ eventId: `c7061bac-afdc-4513-b24b-${String(i).padStart(12, '0')}` }),
  )
  for (let seen = 1; seen <= count; seen++) await beacon.sees(events.slice(0, seen))
}
