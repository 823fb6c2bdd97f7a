// What the configuration says, as the relay uses it. config/ reads and checks the file.
import type { PolicyRule, Route } from './policy.ts'

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
  /** Several while one is being replaced. */
  key?: string[] | undefined
  entra?: Entra | undefined
  /** Channels that receive alerts about this fleet. */
  owners?: string[] | undefined
}

/** One place to notify. Each kind adds what it needs to reach it. */
export interface Channel {
  kind: string
  fallback?: string | undefined
  /** The address is called one or the other. It may be a secret. */
  url?: string | undefined
  endpoint?: string | undefined
}

/** The app of Slack whose buttons decide. */
interface SlackApp {
  /** Several while one is being replaced. */
  signingSecret: string[]
  /** Workspaces whose people may press a button. */
  team: string[]
}

/** The host signs people in. */
interface SignIn {
  tenantId: string
}

export interface Config {
  publicUrl: string
  owners?: string[] | undefined
  fleets: Record<string, Fleet>
  channels: Record<string, Channel>
  policy: PolicyRule[]
  routes: Route[]
  slackApp?: SlackApp | undefined
  signIn?: SignIn | undefined
  retentionDays: number
  allowNetworks: string[]
}
