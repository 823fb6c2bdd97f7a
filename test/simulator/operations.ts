// What can be done to a running fleet, for the control API and for tests in the same process alike.
// Bodies are checked here, once; a refusal says what is wrong and changes nothing.

import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type { World } from './imds.ts'
import type { Refusal } from './refusal.ts'
import { eventPatch, eventRequest, explain, faultRequest, recordedRequest } from './requests.ts'

export type Operations = ReturnType<typeof operationsOn>

export function operationsOn(world: World) {
  const { fleet, faults } = world
  const unknownVm = (names: readonly string[]): Refusal | null => {
    const unknown = names.filter((name) => !fleet.has(name))
    if (unknown.length === 0) return null
    const error = `No VM is called ${unknown.join(', ')}; there are ${fleet.vmNames.join(', ')}.`
    return { refused: 404, error }
  }
  const setAway = (vm: string, away: boolean) =>
    unknownVm([vm]) ?? done(() => fleet.setAway(vm, away))
  const done = <T>(change: () => T) => {
    const outcome = change()
    world.changed()
    return outcome ?? {}
  }

  return {
    createEvent: (body: unknown) =>
      checked(eventRequest, body, (request) =>
        done(() => fleet.createEvent(randomUUID(), request, world.now())),
      ),

    patchEvent: (id: string, body: unknown) =>
      checked(eventPatch, body, (patch) => done(() => fleet.patchEvent(id, patch, world.now()))),

    cancelEvent: (id: string) => done(() => fleet.cancelEvent(id, world.now())),

    fault: (body: unknown) =>
      checked(faultRequest, body, (fault) => {
        if (fault.vm !== undefined) {
          const refusal = unknownVm([fault.vm])
          if (refusal) return refusal
        }
        if (fault.clear || Object.keys(fault).length === 0)
          return done(() => faults.clear(fault.vm))
        const { status, delayMs, emptyBody, emptyEvents, unreadable } = fault
        if (!status && !delayMs && !emptyBody && !emptyEvents && !unreadable) {
          const error =
            'Say what goes wrong: status, delayMs, emptyBody, emptyEvents or unreadable.'
          return { refused: 400, error } satisfies Refusal
        }
        return done(() => faults.add(fault))
      }),

    serveRecorded: (body: unknown) =>
      checked(
        recordedRequest,
        body,
        ({ vms, document }) => unknownVm(vms) ?? done(() => fleet.serveRecorded(vms, document)),
      ),

    resetIncarnation: () => done(() => fleet.resetIncarnation()),
    takeAway: (vm: string) => setAway(vm, true),
    bringBack: (vm: string) => setAway(vm, false),

    state: () => {
      world.now()
      const vms = fleet.vmNames.map((name) => ({
        name,
        tenant: fleet.tenantOf(name).name,
        document: fleet.document(name),
      }))
      const startRequests = fleet.startRequests.map((entry) => ({
        ...entry,
        at: new Date(entry.at).toISOString(),
      }))
      return { vms, startRequests }
    },
  }
}

function checked<S extends z.ZodType, T>(
  schema: S,
  body: unknown,
  act: (input: z.infer<S>) => T,
): T | Refusal {
  const parsed = schema.safeParse(body)
  return parsed.success ? act(parsed.data) : { refused: 400, error: explain(parsed.error) }
}
