// A relay whose fleet `prod` gets its events from Azure itself, too, and a fake of that Azure.
import { createAzureApis } from '../../functions/azure/apis.ts'
import { createTokens } from '../../functions/azure/tokens.ts'
import { FakeArm } from '../simulator/arm.ts'
import { cloudEvent, type Publication, rowOf } from '../simulator/event-grid.ts'
import { subscription } from './fake-beacon.ts'
import { startRelay, world } from './relay.ts'
import { makeToken } from './tokens.ts'
import { eventId, prodKey } from './world.ts'

export { subscription }
export let arm: FakeArm
let token: string

export async function startWithAzure(
  options: Partial<FakeArm['options']> = {},
  own: object = {},
): Promise<void> {
  const azure = { subscriptions: [subscription] }
  const fleets = { prod: { key: prodKey, azureSubscriptions: [subscription] } }
  await startRelay({ fleets, azure, owners: ['team'], ...own })
  const { relay } = world
  const events = { [eventId]: 'virtualMachineScaleSets/web' }
  arm = new FakeArm({ events, rows: {}, ...options })
  const { fetch } = arm
  const access = relay.config.azure!
  const readText = async () => ''
  const tokens = createTokens({ access, host: undefined, readText, fetch, now: relay.now })
  relay.outside.azure = createAzureApis({ access, tokens, fetch, now: relay.now })
  token = (await makeToken(world, { name: 'grid', scopes: ['report'] })).token
}

/** The event as Azure has it now. */
export function publication(more: Partial<Publication> = {}): Publication {
  const { now } = world.clock
  const base = { eventId, subscription, resource: 'virtualMachineScaleSets/web', at: now }
  return { ...base, notBeforeAt: now + 15 * 60_000, ...more }
}

/** Azure's list shows it. */
export function list(...publications: Publication[]): void {
  arm.options.rows = { ...arm.options.rows, maintenanceresources: publications.map(rowOf) }
}

/** Event Grid sends it. */
export async function send(body: unknown, headers: Record<string, string> = {}) {
  return world.app.request('/v1/azure/events', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify(body),
  })
}

export async function publish(more: Partial<Publication> = {}): Promise<number> {
  const { status } = await send(cloudEvent(publication(more)))
  await world.drain()
  return status
}
