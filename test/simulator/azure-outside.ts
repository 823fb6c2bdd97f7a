// Azure outside the VMs, as a server: gives tokens, lists the simulator's events and VMs, starts them, and
// sends each step to a relay as Event Grid does.
import { createServer } from 'node:http'
import { FakeArm } from './arm.ts'
import type { Step } from './event.ts'
import { cloudEvent, type Publication, rowOf } from './event-grid.ts'
import { close, HOST, listen, readBody } from './http.ts'
import type { Simulator } from './simulator.ts'

export const outsideSubscription = '1e1e1e1e-0000-4000-8000-000000000001'
const app = '2c2c2c2c-0000-4000-8000-000000000002'
const maxBytes = 1_000_000
const sender = 'eventgrid.azure.net'

const statuses: Partial<Record<Step['step'], Publication['status']>> = {
  scheduled: 'Scheduled',
  changed: 'Scheduled',
  started: 'Started',
  cancelled: 'Canceled',
  ended: 'Completed',
}

export type AzureOutside = Awaited<ReturnType<typeof startAzureOutside>>

/** All VMs are in the scale set `set`. */
export async function startAzureOutside(set: string) {
  const resource = `virtualMachineScaleSets/${set}`
  const arm = new FakeArm({ events: {}, rows: {} })
  const known = new Map<string, Publication>()
  let simulator: Simulator | undefined
  let relay: { url: string; token: string } | undefined
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '', headers } = request
    const body = (await readBody(request, maxBytes)) ?? ''
    const origin = url.includes('/oauth2/')
      ? 'https://login.example'
      : 'https://management.azure.com'
    const init = {
      method,
      headers: { authorization: headers.authorization ?? '' },
      ...(body === '' ? {} : { body }),
    }
    const answer = await arm.fetch(`${origin}${url}`, init)
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(await answer.text())
  })
  arm.options.onAcknowledge = (id) => simulator?.startEvent(id)
  const own = `http://${HOST}:${await listen(server, 0)}`

  const send = async (publication: Publication) => {
    if (relay === undefined) return
    // a real one retries; here the list does
    await fetch(`${relay.url}/v1/azure/events`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${relay.token}`,
        'content-type': 'application/cloudevents+json',
      },
      body: JSON.stringify(cloudEvent(publication)),
    }).catch(() => {})
  }

  return {
    arm,
    /** For the configuration of the relay. */
    azure: {
      ...{
        subscriptions: outsideSubscription,
        tenantId: app,
        clientId: app,
        clientSecret: 'a secret',
      },
      ...{ authority: own, resourceManager: own },
    },
    attach(to: Simulator): void {
      simulator = to
    },
    /** The relay's address, and its token with the scope `report`. Event Grid asks first whether it may. */
    async sendTo(url: string, token: string): Promise<void> {
      const answer = await fetch(`${url}/v1/azure/events`, {
        method: 'OPTIONS',
        headers: { 'webhook-request-origin': sender },
      })
      const allowed = answer.headers.get('webhook-allowed-origin') ?? ''
      if (answer.status !== 200 || ![sender, '*'].includes(allowed)) {
        throw new Error(`the relay does not let Event Grid send: HTTP ${answer.status}`)
      }
      relay = { url, token }
    },
    onStep({ eventId, step, at }: Step): void {
      const status = statuses[step]
      const found = simulator?.event(eventId)
      const id = eventId.toLowerCase()
      const values = found && {
        ...{ type: found.type, vms: found.resources, notBeforeAt: found.notBeforeAt },
        ...{ source: found.source, durationSeconds: found.durationSeconds },
      }
      const before = known.get(id)
      if (status === undefined || (values ?? before) === undefined) return
      const base = { eventId: id, resource, subscription: outsideSubscription, resourceGroup: 'rg' }
      const publication: Publication = { ...base, ...before, ...values, status, at }
      known.set(id, publication)
      arm.options.events[id] = resource
      arm.options.rows = { maintenanceresources: [...known.values()].map(rowOf) }
      void send(publication)
    },
    stop: () => close(server),
  }
}
