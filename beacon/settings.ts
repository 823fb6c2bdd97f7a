// The beacon's settings. Reports all mistakes at once, and never shows the fleet's key.
import type { Level } from '../shared/log.ts'
import { secretsInProxy } from '../shared/mask.ts'
import type { ProxyEnvironment } from './exchange.ts'
import { allNames, type Environment, keyWanted, readVariables } from './variables.ts'

export interface Settings {
  relayUrl: string
  fleet: string
  credential: CredentialSettings
  imdsUrl: string
  pollMs: number
  stateDirectory: string
  logLevel: Level
  hooks: HookSettings
  proxy: ProxyEnvironment
  /** Texts that no log line may show. */
  secrets: string[]
}

/** How the beacon authenticates: by a key, or by a token for an audience. */
type CredentialSettings =
  | { by: 'key'; fleetKey: string }
  | { by: 'token'; audience: string; clientId: string | undefined }

export interface HookSettings {
  folder: string
  socket: string
  leadMs: number
  /** Names as Azure writes them; undefined for every type, also one that Azure adds later. */
  eventTypes: readonly string[] | undefined
}

export function readEnvironment(environment: Environment): Settings | { problems: string[] } {
  const problems: string[] = []
  const values = readVariables(allNames, environment, problems)
  const { FOGHORN_FLEET_KEY: key, FOGHORN_AUDIENCE: audience, HTTPS_PROXY, NO_PROXY } = values
  const clientId = values.FOGHORN_IDENTITY_CLIENT_ID
  if (!problems.some(isAboutCredential)) {
    problems.push(...credentialProblems(key, audience, clientId))
  }
  if (problems.length > 0) return { problems }
  return {
    relayUrl: values.FOGHORN_RELAY_URL,
    fleet: values.FOGHORN_FLEET,
    credential:
      audience === undefined
        ? { by: 'key', fleetKey: key ?? '' }
        : { by: 'token', audience, clientId },
    imdsUrl: values.FOGHORN_IMDS_URL,
    pollMs: values.FOGHORN_POLL_SECONDS,
    stateDirectory: values.FOGHORN_STATE_DIR,
    logLevel: values.FOGHORN_LOG_LEVEL,
    hooks: {
      folder: values.FOGHORN_HOOKS,
      socket: values.FOGHORN_HOOK_SOCKET,
      leadMs: values.FOGHORN_HOOK_LEAD_SECONDS,
      eventTypes: values.FOGHORN_HOOK_EVENT_TYPES,
    },
    proxy: {
      ...(HTTPS_PROXY === undefined ? {} : { HTTPS_PROXY }),
      ...(NO_PROXY === undefined ? {} : { NO_PROXY }),
    },
    secrets: [
      ...(key === undefined ? [] : [key, key.replace(/^whsec_/, '')]),
      ...secretsInProxy(HTTPS_PROXY),
    ],
  }
}

/** Reads the settings of the runner of hooks alone, which requires no setting. */
export function readRunnerSettings(
  environment: Environment,
): { folder: string; socket: string; logLevel: Level } | { problems: string[] } {
  const problems: string[] = []
  const names = ['FOGHORN_HOOKS', 'FOGHORN_HOOK_SOCKET', 'FOGHORN_LOG_LEVEL'] as const
  const values = readVariables(names, environment, problems)
  if (problems.length > 0) return { problems }
  return {
    folder: values.FOGHORN_HOOKS,
    socket: values.FOGHORN_HOOK_SOCKET,
    logLevel: values.FOGHORN_LOG_LEVEL,
  }
}

function isAboutCredential(problem: string): boolean {
  return /^FOGHORN_(FLEET_KEY|AUDIENCE|IDENTITY_CLIENT_ID) /.test(problem)
}

/** A VM needs a key or an audience, not both: a key that is not needed should not be on the VM. */
function credentialProblems(
  key: string | undefined,
  audience: string | undefined,
  clientId: string | undefined,
): string[] {
  if (key !== undefined && audience !== undefined) {
    return [
      'FOGHORN_FLEET_KEY is set together with FOGHORN_AUDIENCE: remove the key if this VM has an ' +
        'identity, otherwise FOGHORN_AUDIENCE',
    ]
  }
  if (clientId !== undefined && audience === undefined) {
    return [
      'FOGHORN_IDENTITY_CLIENT_ID is set without FOGHORN_AUDIENCE, the audience of the tokens: ' +
        'set that too',
    ]
  }
  if (key === undefined && audience === undefined) {
    return [`FOGHORN_FLEET_KEY is missing: ${keyWanted}`]
  }
  return []
}
