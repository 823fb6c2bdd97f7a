// Tells Azure from outside the VM that an event may start: Azure Resource Manager acknowledges it. It is a
// preview of Azure's. Which resource an event belongs to, and which api-version works, is found by trying.
import * as z from 'zod'
import { cut } from '../../shared/document.ts'
import { messageOf } from '../../shared/errors.ts'
import type { ArmForm, ArmResult, ArmTarget } from '../core/event/arm.ts'
import type { AzureAccess } from '../core/rules/config.ts'
import type { ResourceManager } from '../use-cases/relay.ts'
import { type Answer, type ArmRequest, isFine } from './request.ts'

const dayMs = 86_400_000
const maxReason = 300
/** In this order. The one that worked is kept. Production refused some of them at times. */
export const armVersions = [
  '2025-11-01',
  '2026-02-01-preview',
  '2025-10-01-preview',
  '2023-10-01-preview',
]
const vmVersion = '2024-07-01'
/** *Scheduled Events Contributor* */
const roleId = 'b67fe603-310e-4889-b9ee-8257d09d353d'
const versionCodes = ['NoRegisteredProviderFound', 'InvalidApiVersionParameter']

interface Options {
  access: AzureAccess
  request: ArmRequest
  now: () => number
}

/** It never rejects. */
export function createResourceManager({ access, request, now }: Options): ResourceManager {
  let version = 0
  /** Resource groups whose region cannot do it, and until when nobody asks again. */
  const without = new Map<string, number>()

  const post = async (path: string, eventId: string): Promise<Answer> => {
    for (let tries = 0; ; tries++) {
      const at = `${path}/providers/Microsoft.Maintenance/scheduledevents/${eventId}/acknowledge`
      const answer = await request('POST', at, armVersions[version]!)
      const isVersion = answer.status === 400 && versionCodes.includes(answer.code)
      if (!isVersion || tries >= armVersions.length - 1) return answer
      version = (version + 1) % armVersions.length
    }
  }

  /** Asks as each resource that the event may belong to. */
  const tell = async (
    target: ArmTarget,
    eventId: string,
    [form, ...others]: ArmForm[],
  ): Promise<ArmResult> => {
    const { type, name } = form!
    const path = `${groupOf(target)}/providers/Microsoft.Compute/${type}/${encodeURIComponent(name)}`
    const answer = await post(path, eventId)
    if (isFine(answer)) return { outcome: 'accepted', resource: name }
    if (answer.status === 405) without.set(groupOf(target), now() + dayMs)
    if (!mayBeOther(answer)) return failed(answer, target, access)
    // a VM does not say which availability set it is in
    const sets = type === 'virtualMachines' ? await availabilitySetOf(request, path) : []
    const left = [...others, ...sets]
    return left.length === 0 ? failed(answer, target, access) : tell(target, eventId, left)
  }

  return {
    async acknowledge(target, eventId) {
      if (now() < (without.get(groupOf(target)) ?? 0)) return unsupported
      try {
        return await tell(target, eventId, target.forms)
      } catch (error) {
        const reason = cut(messageOf(error), maxReason)
        return { outcome: 'failed', reason, isFinal: false }
      }
    },
  }
}

function groupOf({ subscriptionId, resourceGroup }: ArmTarget): string {
  return `/subscriptions/${subscriptionId}/resourceGroups/${encodeURIComponent(resourceGroup)}`
}

/** The event may belong to another resource. */
function mayBeOther({ status, code }: Answer): boolean {
  return status === 404 || (status === 400 && code === 'BadRequest')
}

const unsupported: ArmResult = {
  outcome: 'failed',
  reason: 'Azure does not support it in this region yet: only a beacon can start the event',
  status: 405,
  isFinal: true,
}

function failed(
  { status, code, message, retryAfter }: Answer,
  { subscriptionId }: ArmTarget,
  { clientId }: AzureAccess,
): ArmResult {
  if (status === 405) return unsupported
  const said = [code, message].filter((text) => text !== '').join(': ')
  if (status === 403) {
    const assignee = clientId ?? 'CLIENT_ID'
    const reason =
      `the role is missing: az role assignment create --assignee ${assignee} ` +
      `--role ${roleId} --scope /subscriptions/${subscriptionId}`
    return { outcome: 'failed', reason, status, isFinal: false }
  }
  const waits = retryAfter === null ? '' : `, try again in ${retryAfter}`
  const reason = cut(`${said || 'no reason given'}${waits}`, maxReason)
  return { outcome: 'failed', reason, status, isFinal: status === 400 || status === 404 }
}

const vmSchema = z.object({
  properties: z.object({ availabilitySet: z.object({ id: z.string() }).optional() }),
})

async function availabilitySetOf(request: ArmRequest, vm: string): Promise<ArmForm[]> {
  const { status, body } = await request('GET', vm, vmVersion)
  const read = status === 200 ? vmSchema.safeParse(body) : undefined
  const name = read?.data?.properties.availabilitySet?.id.split('/').at(-1)
  return name === undefined ? [] : [{ type: 'availabilitySets', name }]
}
