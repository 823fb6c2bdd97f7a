// Tells Azure from outside the VM that an event may start: Azure Resource Manager acknowledges it. It is a
// preview of Azure's. Which api-version works is found by trying.

import { messageOf } from '../../shared/errors.ts'
import { cut } from '../../shared/text.ts'
import type { ArmResult } from '../core/event/arm.ts'
import type { AzureAccess } from '../core/rules/config.ts'
import { dayMs } from '../core/units.ts'
import type { ResourceManager } from '../use-cases/relay.ts'
import { type Answer, type ArmRequest, isFine } from './request.ts'

const maxReason = 300
/** The relay tries them in this order, and keeps the one that worked. Production refused some at times. */
export const armVersions = [
  '2025-11-01',
  '2026-02-01-preview',
  '2025-10-01-preview',
  '2023-10-01-preview',
]
/** *Scheduled Events Contributor* */
const roleId = 'b67fe603-310e-4889-b9ee-8257d09d353d'
const versionCodes = ['NoRegisteredProviderFound', 'InvalidApiVersionParameter']
const guid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

interface Options {
  access: AzureAccess
  request: ArmRequest
  now: () => number
}

/** `acknowledge` never rejects. */
export function createResourceManager({ access, request, now }: Options): ResourceManager {
  let version = 0
  /** Resource groups whose region cannot do it, and until when nobody asks again. */
  const without = new Map<string, number>()

  const post = async (path: readonly string[]): Promise<Answer> => {
    for (let tries = 0; ; tries++) {
      const answer = await request('POST', path, armVersions[version]!)
      const isVersion = answer.status === 400 && versionCodes.includes(answer.code)
      if (!isVersion || tries >= armVersions.length - 1) return answer
      version = (version + 1) % armVersions.length
    }
  }

  return {
    async acknowledge(resource, eventId) {
      if (!guid.test(eventId)) return noGuid
      const { subscriptionId, resourceGroup, type, name } = resource
      const group = ['subscriptions', subscriptionId, 'resourceGroups', resourceGroup]
      const groupName = `${subscriptionId}/${resourceGroup}`.toLowerCase()
      if (now() < (without.get(groupName) ?? 0)) return unsupported
      const own = [...group, 'providers', 'Microsoft.Compute', type, name]
      const event = ['providers', 'Microsoft.Maintenance', 'scheduledevents', eventId]
      try {
        const answer = await post([...own, ...event, 'acknowledge'])
        if (isFine(answer)) return { outcome: 'accepted', resource: name }
        if (answer.status === 405) without.set(groupName, now() + dayMs)
        return failed(answer, subscriptionId, access)
      } catch (error) {
        const reason = cut(messageOf(error), maxReason)
        return { outcome: 'failed', reason, isFinal: false }
      }
    },
  }
}

const noGuid: ArmResult = {
  outcome: 'failed',
  reason: 'the id of the event is no GUID, so it is not an id of Azure',
  isFinal: true,
}

const unsupported: ArmResult = {
  outcome: 'failed',
  reason: 'Azure does not support it in this region yet: only a beacon can start the event',
  status: 405,
  isFinal: true,
}

function failed(
  { status, code, message, retryAfterMs }: Answer,
  subscriptionId: string,
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
  const seconds = Math.round((retryAfterMs ?? 0) / 1_000)
  const waits = retryAfterMs === undefined ? '' : `, try again in ${seconds} s`
  const reason = cut(`${said || 'no reason given'}${waits}`, maxReason)
  const isFinal = status === 400 || status === 404
  const pause = retryAfterMs === undefined ? {} : { retryAfterMs }
  return { outcome: 'failed', reason, status, isFinal, ...pause }
}
