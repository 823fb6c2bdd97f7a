// What is readable of a configuration, for the checks of names: the rest may have errors.
import type { z } from 'zod'
import { describePath } from '../../shared/errors.ts'
import { apps, buttonServices, groups } from '../notify/registry.ts'
import { subscriptionIds } from './azure.ts'
import { configSchema } from './schema.ts'

export interface KnownChannel {
  channelId?: unknown
  tenantId?: unknown
  kind?: unknown
  fallback?: unknown
  url?: unknown
  endpoint?: unknown
}

export interface KnownRoute {
  fleets: string[]
  /** Absent if it is not a list of names. */
  channels?: string[] | undefined
  approvers: string[]
  /** The service whose messages decide. */
  approveIn?: string | undefined
}

/** What is readable of a configuration. The rest may have errors. */
export interface Readable {
  channels: Record<string, KnownChannel>
  /** Channels under keys of their own, by that key. */
  groups: Record<string, Record<string, KnownChannel>>
  fleets: string[]
  /** The Azure subscriptions whose events each fleet takes. */
  subscriptions: { at: string; ids: string[] }[]
  /** The ids in `azure.subscriptions`. Absent if `azure` is missing or invalid. */
  azureSubscriptions?: string[] | undefined
  /** The lists of owners, top-level and of each fleet: the path and the names. */
  owners: { at: string; names: string[] }[]
  policy: Pick<KnownRoute, 'fleets'>[]
  routes: KnownRoute[]
  /** The lists of viewers, top-level and of each fleet. */
  viewers: { at: string; names: string[] }[]
  /** Absent if they are invalid. Then no address is checked. */
  allowNetworks?: string[] | undefined
  /** The keys of apps whose buttons decide. */
  apps: string[]
  /** `azure` names the app that a bot is. */
  hasBotApp: boolean
  hasSignIn: boolean
  tenantId?: string | undefined
}

export function findReadable(value: unknown): Readable {
  const top = readEntries(value)
  const { channels, fleets, policy, routes, allowNetworks, signIn } = top
  const { shape } = configSchema
  const readLists = (key: 'owners' | 'viewers') => [
    { at: key, names: parsed(shape[key], top[key]) ?? [] },
    ...Object.entries(readEntries(fleets)).map(([name, fleet]) => ({
      at: describePath(['fleets', name, key], value),
      names: parsed(shape[key], readEntries(fleet)[key]) ?? [],
    })),
  ]
  return {
    channels: entriesIn(channels),
    groups: Object.fromEntries(groups.map((key) => [key, entriesIn(top[key])])),
    fleets: Object.keys(readEntries(fleets)),
    subscriptions: Object.entries(readEntries(fleets)).map(([name, fleet]) => ({
      at: describePath(['fleets', name, 'azureSubscriptions'], value),
      ids: parsed(subscriptionIds, readEntries(fleet).azureSubscriptions) ?? [],
    })),
    azureSubscriptions: parsed(subscriptionIds, readEntries(top.azure).subscriptions),
    owners: readLists('owners'),
    policy: readList(policy).map((rule) => ({ fleets: fleetsIn(readEntries(rule).match) })),
    routes: readList(routes).map(readRoute),
    viewers: readLists('viewers'),
    allowNetworks: parsed(shape.allowNetworks, allowNetworks),
    apps: Object.keys(apps).filter((key) => top[key] !== undefined),
    hasBotApp: readEntries(top.azure).clientId !== undefined,
    hasSignIn: signIn !== undefined,
    tenantId: parsed(shape.signIn, signIn)?.tenantId,
  }
}

function entriesIn(value: unknown): Record<string, KnownChannel> {
  return Object.fromEntries(
    Object.entries(readEntries(value)).map(([name, one]) => [name, readEntries(one)]),
  )
}

function readRoute(value: unknown): KnownRoute {
  const route = readEntries(value)
  const { shape } = configSchema.shape.routes.element
  return {
    fleets: fleetsIn(route.match),
    channels: parsed(shape.channels, route.channels),
    approvers: parsed(shape.approvers, route.approvers) ?? [],
    approveIn: buttonServices.find((one) => one.approveIn === route.approveIn)?.approveIn,
  }
}

function fleetsIn(match: unknown): string[] {
  const { fleet } = configSchema.shape.routes.element.shape.match.shape
  return parsed(fleet, readEntries(match).fleet) ?? []
}

function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown) {
  return schema.safeParse(value).data as z.output<Schema> | undefined
}

function readEntries(value: unknown): Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Record<string, unknown>) : {}
}

function readList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
