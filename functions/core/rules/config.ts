// The configuration as the relay uses it. config/ reads and checks the file.
import type { PolicyRule } from './policy.ts'
import type { Route } from './routes.ts'

/** The tenant whose VMs may report by their managed identities. */
export interface Entra {
  tenantId: string
  audience: string[]
  subscriptions?: string[] | undefined
  resourceGroups?: string[] | undefined
  /** Where the relay reads the keys of the tenant. */
  authority: string
}

export interface Fleet {
  /** There are several keys while an owner replaces one. */
  key?: string[] | undefined
  entra?: Entra | undefined
  /** Channels that receive alerts about this fleet. */
  owners?: string[] | undefined
  /** Events that Azure publishes for these subscriptions belong to it. In lower case. */
  azureSubscriptions?: string[] | undefined
  /** How many beacons it has, or the names of their VMs. */
  expectedBeacons?: number | string[] | undefined
  /** People who may see this fleet in the console. */
  viewers?: string[] | undefined
}

/** One place to notify. Each kind adds its own settings. */
export interface Channel {
  kind: string
  fallback?: string | undefined
  /** A kind has one of these two. The address may be a secret. That of SMTP begins with `smtp`. */
  url?: string | undefined
  endpoint?: string | undefined
  /** Only for kind `http`: the preset, and the name of its service. */
  preset?: string | undefined
  service?: string | undefined
  /** Only if the people of the channel are those of one Entra tenant. */
  tenantId?: string | undefined
}

/** The kind as an owner writes it. Inside the relay, one such kind may be several, such as `mail_azure`. */
export function writtenKind({ kind }: Pick<Channel, 'kind'>): string {
  return kind.split('_', 1)[0]!
}

/** Apps of services whose buttons decide. Each service adds its own by declaration merging. */
// biome-ignore lint/suspicious/noEmptyInterface: services add to it
export interface ServiceApps {}

/** The host signs people in. */
interface SignIn {
  tenantId: string
}

/** What the relay may do in Azure itself. */
export interface AzureAccess {
  /** The ids are in lower case. */
  subscriptions: string[]
  /** The tenant of an app registration. Without it, the host's managed identity counts. */
  tenantId?: string | undefined
  /** The client id of the app registration, or of one of several managed identities. */
  clientId?: string | undefined
  clientSecret?: string | undefined
  federatedTokenFile?: string | undefined
  /** Where tokens come from, and where Resource Manager answers. */
  authority: string
  resourceManager: string
}

export interface Config extends ServiceApps {
  publicUrl: string
  owners?: string[] | undefined
  fleets: Record<string, Fleet>
  channels: Record<string, Channel>
  policy: PolicyRule[]
  routes: Route[]
  azure?: AzureAccess | undefined
  signIn?: SignIn | undefined
  /** People who may see all fleets in the console. */
  viewers?: string[] | undefined
  retentionDays: number
  allowNetworks: string[]
  tokenNetworks: string[]
}

/**
 * The fleet that events of a subscription belong to: the one that names it. Undefined if none does. Then the
 * relay does not take its events, and tells Azure nothing about its VMs.
 */
export function findFleet({ azure, fleets }: Config, subscriptionId: string): string | undefined {
  if (!azure?.subscriptions.includes(subscriptionId)) return undefined
  const names = Object.keys(fleets)
  return names.find((name) => fleets[name]!.azureSubscriptions?.includes(subscriptionId))
}

/** Where the relay may tell Azure that events of this fleet start. */
export function listSubscriptions(config: Config, fleet: string): string[] {
  const own = config.fleets[fleet]?.azureSubscriptions ?? []
  return own.filter((id) => findFleet(config, id) === fleet)
}

/** No beacon can report: only Azure itself says what happens. */
export function isBeaconless({ key, entra }: Fleet): boolean {
  return key === undefined && entra === undefined
}
