// Reports past the routes get the same answers and headers as through them.
import { expect, test } from 'vitest'
import { createParts } from '../../../functions/app.ts'
import { fleetHeader, reportPath } from '../../../shared/report.ts'
import { sign } from '../../../shared/signature.ts'
import { relayForEach, world } from '../../support/relay.ts'
import { prodKey } from '../../support/world.ts'

relayForEach()

const valid = {
  version: 1,
  vm: { name: 'web_0', vmId: 'id' },
  beacon: { version: 'test', bootId: 'boot-of-web_0', counter: 1, uptimeMs: 1e6 },
  document: { ageMs: 0, apiVersion: '2020-07-01', events: [] },
  changes: [],
  starts: [],
}
const signed = async (text: string, key = prodKey) => ({
  ...(await sign([key], 'id', world.clock.now, text)),
  [fleetHeader]: 'prod',
})
const stranger = `whsec_${Buffer.alloc(32, 9).toString('base64')}`

test.each([
  ['that is accepted', undefined, signed],
  ['that is no JSON', '{', signed],
  ['with a wrong signature', '{', (text: string) => signed(text, stranger)],
  ['of no fleet', '{', async () => ({})],
])('a report %s', async (_, given, headersOf) => {
  const text = given ?? JSON.stringify(valid)
  const headers = await headersOf(text)
  const { answerReport } = createParts(world.relay)
  const direct = await answerReport({
    header: (name) => (headers as Record<string, string>)[name],
    text,
  })
  const { app: other } = createParts({ ...world.relay })
  if (given === undefined) expect(JSON.parse(direct.body).outcome).toBe('accepted')
  const routed = await other.request(reportPath, { method: 'POST', body: text, headers })
  expect({ ...direct, body: JSON.parse(direct.body).code }).toEqual({
    status: routed.status,
    headers: Object.fromEntries(routed.headers),
    body: ((await routed.json()) as { code?: string }).code,
  })
})
