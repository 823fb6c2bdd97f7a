// Reads the environment that all hosts share: keys and the configuration. One error lists all
// mistakes, each with its remedy.

import { FoghornError, messageOf } from '../../shared/errors.ts'
import type { Level } from '../../shared/log.ts'
import { secretsInProxy, secretsInUrl } from '../../shared/mask.ts'
import { fromBase64, toBase64 } from '../../shared/signature.ts'
import type { HostIdentity } from '../azure/tokens.ts'
import { type Config, listSecrets, readConfig } from '../config/config.ts'
import { withoutLineBreaks } from '../config/environment.ts'
import { mistakesOfSignIn } from '../config/hosts.ts'
import { keyPattern } from '../core/rules/access.ts'
import type { ForwardProxy } from '../notify/undici.ts'

const minLinkKeyBytes = 32
const minAdminKeyLength = 32

export type Environment = Record<string, string | undefined>

export interface ConfigText {
  /** The name that errors show. */
  name: string
  text: string
}

export interface Common {
  config: Config
  linkKeys: Uint8Array<ArrayBuffer>[]
  adminKey: string | undefined
  level: Level
  /** The proxy is only for Node and Azure Functions. */
  proxy: ForwardProxy | undefined
  asWritten: string[]
  /** App Service gives tokens of the app's managed identity there. */
  hostIdentity: HostIdentity | undefined
}

/** Runs one read and collects its error. The value is unusable if there was any error. */
export type Attempt = <T>(read: () => T) => T

/** Throws FoghornError `settings_invalid` with all mistakes, one a line. */
export function readEnvironment<More>(
  given: Environment,
  more: (attempt: Attempt, environment: Environment) => More,
  configText: () => ConfigText,
): Common & More {
  const environment = withoutLineBreaks(given)
  const mistakes: string[] = []
  const attempt: Attempt = (read) => {
    try {
      return read()
    } catch (error) {
      mistakes.push(messageOf(error))
      return undefined as never
    }
  }
  const config = attempt(() => readConfigText(configText(), environment))
  if (config !== undefined) mistakes.push(...mistakesOfSignIn(config, environment))
  const settings = {
    ...more(attempt, environment),
    asWritten: secretsAsWritten(environment),
    linkKeys: attempt(() => readLinkKeys(environment.FOGHORN_LINK_KEY)),
    adminKey: attempt(() => readAdminKey(environment.FOGHORN_ADMIN_KEY)),
    level: attempt(() => readLevel(environment.FOGHORN_LOG_LEVEL ?? 'info')),
    proxy: attempt(() => readProxy(environment)),
    hostIdentity: readHostIdentity(environment),
    config,
  }
  if (mistakes.length > 0) throw new FoghornError('settings_invalid', mistakes.join('\n'))
  return settings
}

/** No log line may show these. */
export function allSecrets({ config, linkKeys, adminKey, proxy, asWritten }: Common): string[] {
  const keys = [...linkKeys.map(toBase64), adminKey ?? '']
  return [...listSecrets(config), ...keys, ...secretsInProxy(proxy?.url), ...asWritten]
}

/** Secrets in the form that the owner wrote: base64 has several, and a connection string contains a key. */
function secretsAsWritten({
  FOGHORN_LINK_KEY = '',
  AzureWebJobsStorage = '',
  IDENTITY_HEADER = '',
  FOGHORN_DATABASE = '',
  FOGHORN_DATABASE_PASSWORD = '',
}: Environment): string[] {
  const account = /AccountKey=([^;]+)/.exec(AzureWebJobsStorage)?.[1] ?? ''
  return [
    ...FOGHORN_LINK_KEY.split(',').map((key) => key.trim()),
    account,
    IDENTITY_HEADER,
    ...secretsInUrl(FOGHORN_DATABASE),
    FOGHORN_DATABASE_PASSWORD,
  ]
}

function readHostIdentity({
  IDENTITY_ENDPOINT: endpoint = '',
  IDENTITY_HEADER: header = '',
}: Environment): HostIdentity | undefined {
  return endpoint === '' ? undefined : { endpoint, header }
}

function readLinkKeys(text: string | undefined): Common['linkKeys'] {
  const keys = (text ?? '').split(',').map((part) => fromBase64(part.trim()))
  const usable = keys.filter((key) => key !== undefined && key.length >= minLinkKeyBytes)
  if (usable.length === keys.length) return usable as Common['linkKeys']
  throw new FoghornError(
    'link_key_invalid',
    `FOGHORN_LINK_KEY is ${text ? 'not valid' : 'not set'}; write the base64 of at least ` +
      `${minLinkKeyBytes} random bytes (openssl rand -base64 32); separate several keys by commas`,
  )
}

function readAdminKey(given: string | undefined): string | undefined {
  const text = given?.trim() ?? ''
  if (text === '') return undefined
  if (!keyPattern.test(text)) {
    throw new FoghornError(
      'admin_key_invalid',
      'FOGHORN_ADMIN_KEY has characters that a header cannot have; write only the key, without blanks',
    )
  }
  if (text.length >= minAdminKeyLength) return text
  throw new FoghornError(
    'admin_key_invalid',
    `FOGHORN_ADMIN_KEY has ${text.length} characters; write at least ${minAdminKeyLength}, or ` +
      'remove it: then the API is off, and the console too, unless signIn is set',
  )
}

function readLevel(text: string): Level {
  if (['debug', 'info', 'warn', 'error'].includes(text)) return text as Level
  throw new FoghornError(
    'level_invalid',
    `FOGHORN_LOG_LEVEL is "${text}"; write debug, info, warn or error`,
  )
}

/** Programs write these names in either case. */
function readProxy(environment: Environment): ForwardProxy | undefined {
  const url = environment.https_proxy || environment.HTTPS_PROXY
  if (!url) return undefined
  const protocol = URL.canParse(url) ? new URL(url).protocol : ''
  if (['http:', 'https:'].includes(protocol)) {
    return { url, except: environment.no_proxy || environment.NO_PROXY || '' }
  }
  throw new FoghornError(
    'proxy_invalid',
    'HTTPS_PROXY is not the address of a proxy (it is not shown here, because it may contain a ' +
      'password); write http://proxy.example.com:3128, or remove it',
  )
}

function readConfigText({ name, text }: ConfigText, environment: Environment): Config {
  try {
    return readConfig(text, environment)
  } catch (error) {
    if (!(error instanceof FoghornError)) throw error
    throw new FoghornError(error.code, `in ${name}:\n${error.message}`)
  }
}
