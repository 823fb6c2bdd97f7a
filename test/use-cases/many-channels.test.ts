// 200 channels, of which the events of each fleet reach 20.
import { expect, test } from 'vitest'
import { relayForEach, report, startRelay, world } from '../support/relay.ts'
import { askApi } from '../support/tokens.ts'
import { adminKey, event, prodKey } from '../support/world.ts'

const perFleet = 20
const fleets = Array.from({ length: 10 }, (_, i) => (i === 0 ? 'prod' : `fleet${i}`))
const namesOf = (fleet: string) => Array.from({ length: perFleet }, (_, i) => `${fleet}-${i}`)
const addressOf = (name: string) => `https://slack.example/services/T0/B0/${name}`

relayForEach(async () => {
  await startRelay({
    fleets: Object.fromEntries(fleets.map((fleet, i) => [fleet, { key: keyOf(i) }])),
    channels: Object.fromEntries(
      fleets.flatMap(namesOf).map((name) => [name, { kind: 'slack', url: addressOf(name) }]),
    ),
    routes: fleets.map((fleet) => ({ match: { fleet }, channels: namesOf(fleet) })),
  })
})

function keyOf(i: number): string {
  return i === 0 ? prodKey : `whsec_${Buffer.alloc(24, i).toString('base64')}`
}

test('an event reaches those of its fleet, once each, and no other', async () => {
  await report(event())
  await world.pass(30_000)
  const addresses = world.sent.map(({ url }) => url)
  expect(addresses.sort()).toEqual(namesOf('prod').map(addressOf).sort())
})

test('the list of channels and the console show all of them', async () => {
  await report(event())
  const answer = await askApi(world, adminKey, '/v1/channels')
  const { channels } = (await answer.json()) as { channels: object[] }
  expect(channels).toHaveLength(fleets.length * perFleet)
})
