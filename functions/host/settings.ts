// What every host on Node reads from its environment: keys and the configuration file. All mistakes are said at
// once, each with what to write instead.
import { existsSync, readFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import type { Level } from '../../shared/log.ts'
import { fromBase64, toBase64 } from '../../shared/signature.ts'
import { type Config, readConfig, secretsOf } from '../config/config.ts'

const minLinkKeyBytes = 32
const minAdminKeyLength = 32

export type Environment = Record<string, string | undefined>

export interface Common {
  config: Config
  linkKeys: Uint8Array<ArrayBuffer>[]
  adminKey: string | undefined
  level: Level
  written: string[]
}

/** Runs one read, and keeps what was wrong; the value counts only where nothing was. */
export type Attempt = <T>(read: () => T) => T

/** Throws FoghornError `settings_invalid` with everything that is wrong, one mistake a line. */
export function readEnvironment<More>(
  environment: Environment,
  more: (attempt: Attempt) => More,
  /** Where a relative path of the configuration begins. */
  folder = '.',
): Common & More {
  const mistakes: string[] = []
  const attempt: Attempt = (read) => {
    try {
      return read()
    } catch (error) {
      mistakes.push(messageOf(error))
      return undefined as never
    }
  }
  const file = environment.FOGHORN_CONFIG ?? 'foghorn.config.json'
  const path = isAbsolute(file) ? file : join(folder, file)
  const config = attempt(() => readConfigFile(path, environment))
  attempt(() => checkSignIn(config, environment))
  const settings = {
    ...more(attempt),
    written: writtenSecrets(environment),
    linkKeys: attempt(() => linkKeysOf(environment.FOGHORN_LINK_KEY)),
    adminKey: attempt(() => adminKeyOf(environment.FOGHORN_ADMIN_KEY)),
    level: attempt(() => levelOf(environment.FOGHORN_LOG_LEVEL ?? 'info')),
    config,
  }
  if (mistakes.length > 0) throw new FoghornError('settings_invalid', mistakes.join('\n'))
  return settings
}

/** What no log line may show. */
export function allSecrets({ config, linkKeys, adminKey, written }: Common): string[] {
  return [...secretsOf(config), ...linkKeys.map(toBase64), adminKey ?? '', ...written]
}

/** As somebody wrote them: base64 has more than one form, and a connection string holds a key. */
function writtenSecrets({
  FOGHORN_LINK_KEY = '',
  AzureWebJobsStorage = '',
}: Environment): string[] {
  const account = /AccountKey=([^;]+)/.exec(AzureWebJobsStorage)?.[1]
  return [...FOGHORN_LINK_KEY.split(',').map((key) => key.trim()), account ?? '']
}

function linkKeysOf(text: string | undefined): Common['linkKeys'] {
  const keys = (text ?? '').split(',').map((part) => fromBase64(part.trim()))
  const usable = keys.filter((key) => key !== undefined && key.length >= minLinkKeyBytes)
  if (usable.length === keys.length) return usable as Common['linkKeys']
  throw new FoghornError(
    'link_key_invalid',
    `FOGHORN_LINK_KEY is ${text ? 'not usable' : 'not set'}; write the base64 of at least ` +
      `${minLinkKeyBytes} random bytes (openssl rand -base64 32), several separated by commas`,
  )
}

function adminKeyOf(text: string | undefined): string | undefined {
  if (text === undefined || text === '' || text.length >= minAdminKeyLength)
    return text || undefined
  throw new FoghornError(
    'admin_key_invalid',
    `FOGHORN_ADMIN_KEY has ${text.length} characters; write at least ${minAdminKeyLength}, or ` +
      'leave it out to switch the events API off',
  )
}

function levelOf(text: string): Level {
  if (['debug', 'info', 'warn', 'error'].includes(text)) return text as Level
  throw new FoghornError(
    'level_invalid',
    `FOGHORN_LOG_LEVEL is "${text}"; write debug, info, warn or error`,
  )
}

function readConfigFile(path: string, environment: Environment): Config {
  if (!existsSync(path)) {
    const remedy = 'set FOGHORN_CONFIG, or start with a copy of infra/examples/full.config.json'
    throw new FoghornError('config_missing', `there is no configuration at "${path}"; ${remedy}`)
  }
  try {
    return readConfig(readFileSync(path, 'utf8'), environment)
  } catch (error) {
    if (!(error instanceof FoghornError)) throw error
    throw new FoghornError(error.code, `in ${path}:\n${error.message}`)
  }
}

/**
 * Only where App Service Authentication is on does its header say who somebody is: App Service removes it from
 * what comes from outside. It says that it is on in a variable of its own.
 */
function checkSignIn(config: Config | undefined, { WEBSITE_AUTH_ENABLED }: Environment): void {
  if (config?.signIn === undefined || /^(true|1)$/i.test(WEBSITE_AUTH_ENABLED ?? '')) return
  const found = WEBSITE_AUTH_ENABLED ? `is "${WEBSITE_AUTH_ENABLED}"` : 'is not set'
  throw new FoghornError(
    'sign_in_off',
    `signIn: App Service Authentication is off here (WEBSITE_AUTH_ENABLED ${found}), so anybody could ` +
      'say to be somebody; switch it on (docs/install-relay-azure.md, "Sign-in"), or remove "signIn"',
  )
}
