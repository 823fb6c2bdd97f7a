// A running fleet: the pure model under the real clock, one IMDS server per VM, and the control API.
// The clock is read here only, and the timer is set for the next transition rather than polling.

import type { Server } from 'node:http'
import { createControlServer } from './control.ts'
import { type ApiVersion, GENERAL_VERSIONS } from './documents.ts'
import type { Step } from './event.ts'
import { Faults } from './faults.ts'
import { Fleet, type StartRequest } from './fleet.ts'
import { close, HOST, listen } from './http.ts'
import { createImdsServer, type World } from './imds.ts'
import { Issuer } from './issuer.ts'
import { operationsOn } from './operations.ts'
import { isRefusal } from './refusal.ts'
import type { EventPatch, EventRequest, FaultRequest, RecordedDocument } from './requests.ts'
import { Waiters } from './waiters.ts'

/** Longer timers overflow in Node; the timer is simply set again. */
const MAX_TIMER_MS = 2 ** 31 - 1

export interface SimulatorOptions {
  /** Of the control API; VM i listens on port+1+i. 0: any free ports. */
  readonly port?: number
  /** One list of names per tenant. */
  readonly vms: readonly (readonly string[])[]
  /** How long a tenant's first GET takes, which switches the service on. */
  readonly firstGetMs?: number
  readonly apiVersions?: readonly ApiVersion[]
  readonly log?: (line: string) => void
  readonly onStep?: (step: Step) => void
}

export type Simulator = Awaited<ReturnType<typeof startSimulator>>

export async function startSimulator(options: SimulatorOptions) {
  const { port = 0, log = () => {} } = options
  const waiters = new Waiters()
  const onStep = (step: Step) => {
    log(`${step.tenant}: event ${step.eventId} ${step.step}`)
    options.onStep?.(step)
  }
  const fleet = new Fleet(options.vms, { firstGetMs: options.firstGetMs ?? 0, onStep })
  const servers = new Map<string, Server>()
  let timer: NodeJS.Timeout | undefined

  const world: World = {
    fleet,
    faults: new Faults(),
    issuer: new Issuer(),
    apiVersions: options.apiVersions ?? GENERAL_VERSIONS,
    now: () => {
      const now = Date.now()
      fleet.advance(now)
      return now
    },
    changed: () => {
      const now = world.now()
      for (const [vm, server] of servers) if (!fleet.answers(vm)) server.closeAllConnections()
      clearTimeout(timer)
      const next = fleet.nextTransitionAt()
      const waitMs = Math.min(Math.max(1, (next ?? 0) - now), MAX_TIMER_MS)
      timer = next === null ? undefined : setTimeout(world.changed, waitMs)
      waiters.changed()
    },
  }
  const operations = operationsOn(world)
  const control = createControlServer(operations, world.issuer)
  for (const vm of fleet.vmNames) servers.set(vm, createImdsServer(world, vm))

  const stop = async () => {
    clearTimeout(timer)
    await Promise.all([control, ...servers.values()].map(close))
  }
  const urls: string[] = []
  try {
    for (const [index, server] of [control, ...servers.values()].entries()) {
      urls.push(`http://${HOST}:${await listen(server, port === 0 ? 0 : port + index)}`)
    }
  } catch (error) {
    await stop()
    throw error
  }

  return {
    controlUrl: urls[0]!,
    issuer: world.issuer,
    vms: fleet.vmNames.map((name, i) => ({
      name,
      tenant: fleet.tenantOf(name).name,
      url: urls[i + 1]!,
    })),
    createEvent: (request: EventRequest = {}): string =>
      orThrow<{ EventId: string }>(operations.createEvent(request)).EventId,
    /** Undefined once it is over. */
    event: (id: string) =>
      fleet.tenants.flatMap(({ events }) => events).find((one) => isSame(one, id)),
    /** As a person in the portal, or Resource Manager. */
    startEvent: (id: string): void => {
      const tenant = fleet.tenants.find(({ events }) => events.some((one) => isSame(one, id)))
      if (tenant === undefined) return
      fleet.startEvents(tenant.vms[0]!, [id], world.now())
      world.changed()
    },
    patchEvent: (id: string, patch: EventPatch): void =>
      void orThrow(operations.patchEvent(id, patch)),
    cancelEvent: (id: string): void => void orThrow(operations.cancelEvent(id)),
    fault: (fault: FaultRequest): void => void orThrow(operations.fault(fault)),
    serveRecorded: (vms: string[], document: RecordedDocument): void =>
      void orThrow(operations.serveRecorded({ vms, document })),
    resetIncarnation: (): void => void operations.resetIncarnation(),
    takeAway: (vm: string): void => void orThrow(operations.takeAway(vm)),
    bringBack: (vm: string): void => void orThrow(operations.bringBack(vm)),
    startRequests: (): readonly StartRequest[] => [...fleet.startRequests],
    state: operations.state,
    /** Looks again at every change of the fleet and every StartRequest. */
    waitFor: async (predicate: () => boolean, timeoutMs: number): Promise<void> => {
      const describe = () => `the state is ${JSON.stringify(operations.state())}`
      await waiters.until(() => predicate() || undefined, timeoutMs, describe)
    },
    stop,
  }
}

function isSame(one: { id: string }, id: string): boolean {
  return one.id.toLowerCase() === id.toLowerCase()
}

function orThrow<T extends object>(outcome: object): T {
  if (isRefusal(outcome)) throw new Error(outcome.error)
  return outcome as T
}
