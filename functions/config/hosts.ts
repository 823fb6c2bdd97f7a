// What a host refuses of a valid configuration, when it starts and when check-config is told the host.
import { isSink } from '../core/delivery/delivery.ts'
import type { Config } from './config.ts'
import type { Environment } from './environment.ts'

/** Set by `npm run dev:cloudflare` only: this runtime can reach private networks. */
export const developmentName = 'FOGHORN_DEVELOPMENT'

/** One line for each mistake: its path, and what to write instead. */
export type MistakesOn = (config: Config, environment: Environment) => string[]

/**
 * The header that names a person is genuine only while App Service Authentication is on: then App
 * Service removes the header from outside requests. It also sets the variable.
 */
export function mistakesOfSignIn(
  { signIn }: Config,
  { WEBSITE_AUTH_ENABLED }: Environment,
): string[] {
  if (signIn === undefined || /^(true|1)$/i.test(WEBSITE_AUTH_ENABLED ?? '')) return []
  const found = WEBSITE_AUTH_ENABLED ? `is "${WEBSITE_AUTH_ENABLED}"` : 'is not set'
  return [
    `signIn: App Service Authentication is off (WEBSITE_AUTH_ENABLED ${found}), so a request ` +
      'could claim any identity; switch it on (docs/install-relay-azure.md, "Sign-in"), or ' +
      'remove "signIn"',
  ]
}

/** What a Worker cannot do of a valid configuration. */
export function mistakesOnCloudflare(config: Config, environment: Environment): string[] {
  const { azure, channels } = config
  const asksInSink = Object.entries(channels).some(([name, one]) => isSink(name) && !('key' in one))
  const asksAzure = azure !== undefined || asksInSink
  const identity =
    'azure: a Worker has no managed identity, and no files; write "tenantId", "clientId" and "clientSecret"'
  const mails = Object.entries(channels).filter(([, one]) => one.kind === 'mail')
  const keys = (['allowNetworks', 'tokenNetworks'] as const).filter((key) => config[key].length > 0)
  return [
    ...(asksAzure && azure?.clientSecret === undefined ? [identity] : []),
    ...mails.map(
      ([name]) =>
        `channels.${name}: a Worker cannot speak SMTP; write "endpoint" and "accessKey" of Azure Communication Services`,
    ),
    ...(environment[developmentName] ? [] : keys).map(
      (key) => `${key}: remove "${key}": a Worker reaches public addresses only`,
    ),
  ]
}

/** On Azure Functions, only the settings of the app say what is missing. */
export const hosts = {
  node: mistakesOfSignIn,
  azure: () => [],
  cloudflare: (config, environment) => [
    ...mistakesOfSignIn(config, environment),
    ...mistakesOnCloudflare(config, environment),
  ],
} satisfies Record<string, MistakesOn>
