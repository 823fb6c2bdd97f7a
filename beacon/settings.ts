// The beacon's settings, read from environment variables that main passes in. Reports all mistakes
// at once, each with what to write instead, and never shows the fleet's key.
import * as z from 'zod/mini'
import type { Level } from '../shared/log.ts'
import { secretBytes } from '../shared/signature.ts'
import type { ProxyEnvironment } from './exchange.ts'
import { type HookSettings, hookVariables, readHookSettings } from './hooks/settings.ts'
import {
  type Environment,
  levels,
  parseLevel,
  type Read,
  reader,
  shown,
  Wrong,
} from './read-variable.ts'

export type { Environment } from './read-variable.ts'

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

const defaultImdsUrl = 'http://169.254.169.254'
/** In the working directory, for any user. The service on a VM sets /var/lib/foghorn. */
const defaultStateDirectory = '.foghorn-beacon'
const defaultPollSeconds = 1
/** At most 4 requests go out in 1.05 s; see imds-request.ts. */
const leastPollSeconds = 0.3
const mostPollSeconds = 60

/** What each variable is for; the reference table in docs/install-beacon.md is made from this. */
export const variables: Record<string, { usual: string; about: string }> = {
  FOGHORN_RELAY_URL: {
    usual: '',
    about: 'Required. The address of the relay: https, or loopback.',
  },
  FOGHORN_FLEET: { usual: '', about: 'Required. The name of the fleet in the configuration.' },
  FOGHORN_FLEET_KEY: {
    usual: '',
    about: 'Required, or `FOGHORN_AUDIENCE`. The key of the fleet: `whsec_` and base64.',
  },
  FOGHORN_AUDIENCE: {
    usual: '',
    about: 'In place of the key. The audience of the tokens that the identity of the VM gets.',
  },
  FOGHORN_IDENTITY_CLIENT_ID: {
    usual: '',
    about: 'Which user-assigned identity to use, if the VM has several.',
  },
  FOGHORN_IMDS_URL: {
    usual: defaultImdsUrl,
    about: 'The origin of IMDS. Only VMs outside a virtual network need another one.',
  },
  FOGHORN_POLL_SECONDS: {
    usual: String(defaultPollSeconds),
    about: `From ${leastPollSeconds} to ${mostPollSeconds}. The beacon sends at most four requests a second.`,
  },
  FOGHORN_STATE_DIR: {
    usual: defaultStateDirectory,
    about:
      'The folder for changes that the relay has not accepted yet. A second beacon on it exits.',
  },
  FOGHORN_LOG_LEVEL: { usual: 'info', about: `One of ${levels.join(', ')}.` },
  ...hookVariables,
  HTTPS_PROXY: {
    usual: '',
    about: 'The proxy for requests to the relay. Requests to IMDS never use it.',
  },
  NO_PROXY: { usual: '', about: 'Hosts that the beacon reaches without the proxy.' },
}

export function readEnvironment(environment: Environment): Settings | { problems: string[] } {
  const problems: string[] = []
  const read = reader(environment, problems)
  const relayUrl = read('FOGHORN_RELAY_URL', parseRelayUrl)
  const fleet = read('FOGHORN_FLEET', parseFleet)
  const credential = readCredential(read)
  const imdsUrl = read('FOGHORN_IMDS_URL', parseImdsUrl)
  const pollMs = read('FOGHORN_POLL_SECONDS', parsePollMs)
  const logLevel = read('FOGHORN_LOG_LEVEL', parseLevel)
  const hooks = readHookSettings(read)
  const stateDirectory = environment.FOGHORN_STATE_DIR || defaultStateDirectory
  const proxyName = environment.https_proxy ? 'https_proxy' : 'HTTPS_PROXY'
  const proxyUrl = read(proxyName, parseProxyUrl)
  const noProxy = environment.no_proxy || environment.NO_PROXY
  if (
    problems.length > 0 ||
    relayUrl === undefined ||
    fleet === undefined ||
    credential === undefined ||
    imdsUrl === undefined ||
    pollMs === undefined ||
    logLevel === undefined ||
    hooks === undefined ||
    proxyUrl === undefined
  ) {
    return { problems }
  }
  return {
    relayUrl,
    fleet,
    credential,
    imdsUrl,
    pollMs,
    logLevel,
    stateDirectory,
    hooks,
    proxy: {
      ...(proxyUrl === '' ? {} : { HTTPS_PROXY: proxyUrl }),
      ...(noProxy ? { NO_PROXY: noProxy } : {}),
    },
    secrets: [...keysOf(credential), ...secretsOf(proxyUrl)],
  }
}

function parseRelayUrl(text: string | undefined): string | Wrong {
  const want = 'write the address of your relay, such as https://foghorn.example.com'
  if (text === undefined) return new Wrong(`is missing: ${want}`)
  const url = urlOf(text)
  if (url === undefined || !['https:', 'http:'].includes(url.protocol)) {
    return new Wrong(`is ${shown(text)}, which is not a web address: ${want}`)
  }
  if (url.username !== '' || url.search !== '' || url.hash !== '') {
    return new Wrong(`is ${shown(text)}, with a user, a query or a fragment: ${want}`)
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return new Wrong(
      `is ${shown(text)}, but plain http is allowed to this machine only: write ${shown(`https:${text.slice(5)}`)}`,
    )
  }
  return text
}

/** The name is sent in a header, so it must be ASCII. */
function parseFleet(text: string | undefined): string | Wrong {
  const want = 'write the name of the fleet as the relay has it in "fleets", such as production'
  if (text === undefined) return new Wrong(`is missing: ${want}`)
  if (/^[\x21-\x7e]{1,128}$/.test(text)) return text
  return new Wrong(
    `is ${shown(text)}: ${want}, in up to 128 visible ASCII characters without spaces`,
  )
}

/** Not both: a key that is not needed should not be on the VM. */
function readCredential(read: Read): CredentialSettings | undefined {
  const audience = read('FOGHORN_AUDIENCE', parseAudience)
  const clientId = read('FOGHORN_IDENTITY_CLIENT_ID', (text) => parseClientId(text, audience))
  const fleetKey = read('FOGHORN_FLEET_KEY', (text) => {
    if (audience === '') return parseFleetKey(text)
    if (text === undefined) return ''
    return new Wrong(
      'is set together with FOGHORN_AUDIENCE: remove the key if this VM has an identity, ' +
        'otherwise FOGHORN_AUDIENCE',
    )
  })
  if (audience === undefined || clientId === undefined || fleetKey === undefined) return undefined
  if (audience === '') return { by: 'key', fleetKey }
  return { by: 'token', audience, clientId: clientId === '' ? undefined : clientId }
}

/** Empty if it is not set. */
function parseAudience(text = ''): string | Wrong {
  if (/^[\x21-\x7e]{0,256}$/.test(text) && !text.startsWith('whsec_')) return text
  return new Wrong(
    `is ${shown(text)}: write what the relay has in "audience" of the fleet's "entra", such as api://foghorn`,
  )
}

/** Empty if it is not set. `audience` is undefined if it has a mistake of its own. */
function parseClientId(text: string | undefined, audience: string | undefined): string | Wrong {
  if (text === undefined) return ''
  const want = 'write the client id (a GUID) of the user-assigned identity, or leave it out'
  if (!guid.safeParse(text).success) return new Wrong(`is ${shown(text)}: ${want}`)
  if (audience !== '') return text
  return new Wrong('is set without FOGHORN_AUDIENCE, the audience of the tokens: set that too')
}

const guid = z.guid()

function parseFleetKey(text: string | undefined): string | Wrong {
  const want =
    'write the key of the fleet as the relay has it: "whsec_" and the base64 of 24 to 64 bytes; ' +
    'or set FOGHORN_AUDIENCE instead, if this VM has a managed identity'
  if (text === undefined) return new Wrong(`is missing: ${want}`)
  try {
    secretBytes(text)
    return text
  } catch {
    return new Wrong(`is not a valid key (it is not shown here): ${want}`)
  }
}

function parseImdsUrl(text: string | undefined): string | Wrong {
  if (text === undefined) return defaultImdsUrl
  const url = urlOf(text)
  const isOrigin = url !== undefined && `${url.pathname}${url.search}${url.hash}` === '/'
  if (isOrigin && url.protocol === 'http:' && url.username === '') return url.origin
  return new Wrong(
    `is ${shown(text)}: write an http origin without a path, such as ${defaultImdsUrl}, or leave it out`,
  )
}

function parsePollMs(text: string | undefined): number | Wrong {
  const seconds = text === undefined ? defaultPollSeconds : Number(text)
  if (seconds >= leastPollSeconds && seconds <= mostPollSeconds) return Math.round(seconds * 1000)
  return new Wrong(
    `is ${shown(text ?? '')}: write seconds from ${leastPollSeconds} to ${mostPollSeconds}, or leave it out for ${defaultPollSeconds}`,
  )
}

function parseProxyUrl(text: string | undefined): string | Wrong {
  if (text === undefined) return ''
  const url = urlOf(text)
  if (url !== undefined && ['http:', 'https:'].includes(url.protocol)) return text
  return new Wrong(
    `is ${shown(text)}: write the address of a proxy, such as http://proxy.example.com:3128`,
  )
}

function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

function keysOf(credential: CredentialSettings): string[] {
  if (credential.by === 'token') return []
  return [credential.fleetKey, credential.fleetKey.replace(/^whsec_/, '')]
}

/** The error of a failed connection can contain the proxy's password. */
function secretsOf(proxyUrl: string): string[] {
  const url = urlOf(proxyUrl)
  if (url === undefined || url.password === '') return []
  return [`${url.username}:${url.password}`, url.password, decoded(url.password)]
}

/** As it is if a `%` begins no escape. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
