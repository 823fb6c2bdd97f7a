// The variables of the environment that a beacon reads: what each is for, and what it may be. A
// mistake becomes a sentence that names the variable, the value and what to write instead.
import { posix, win32 } from 'node:path'
import * as z from 'zod/mini'
import { adviceType, documentedTypes, knownType } from '../shared/document.ts'
import type { Level } from '../shared/log.ts'
import { secretBytes } from '../shared/signature.ts'
import { cut } from '../shared/text.ts'

export type Environment = Record<string, string | undefined>

const defaultImdsUrl = 'http://169.254.169.254'
/** A folder in the working directory works for any user. The service on a VM sets /var/lib/foghorn. */
const defaultStateDirectory = '.foghorn-beacon'
/** At most 4 requests go out in 1.05 s; see imds-request.ts. */
const pollSeconds = { least: 0.3, most: 60, usual: 1 }
const leadSeconds = { least: 0, most: 86_400, usual: 600 }
const levels = ['debug', 'info', 'warn', 'error'] as const satisfies readonly Level[]
const everyType = 'all'
const isWindows = process.platform === 'win32'
const folderOfHooks = '/etc/foghorn/hooks'
const socketOfHooks = '/run/foghorn/hooks.sock'
/** Where they are on this system. */
const hookPlaces = isWindows
  ? {
      folder: win32.join(win32.dirname(process.execPath), 'hooks'),
      socket: '\\\\.\\pipe\\foghorn-hooks',
    }
  : { folder: folderOfHooks, socket: socketOfHooks }

/** What a variable is for (the documentation shows this), and what it may be. */
export interface Variable<T> {
  about: string
  /** The usual value, for the documentation. */
  usual: string
  schema: z.ZodMiniType<T, string | undefined>
}

export const variable = <T>(
  about: string,
  schema: Variable<T>['schema'],
  usual: string | number = '',
): Variable<T> => ({ about, schema, usual: String(usual) })

const wrong =
  (want: string) =>
  ({ input }: { input?: unknown }) =>
    `is ${shown(String(input))}: ${want}`

/** A variable that must be set. `want` says what to write. */
export function text(want: string, isRight: (text: string) => boolean) {
  return z.string(`is missing: ${want}`).check(z.refine(isRight, { error: wrong(want) }))
}

export function seconds({ least, most, usual }: Record<'least' | 'most' | 'usual', number>) {
  const want = `write seconds from ${least} to ${most}, or leave it out for ${usual}`
  const isRight = (value: string) => Number(value) >= least && Number(value) <= most
  return z.pipe(
    z._default(text(want, isRight), String(usual)),
    z.transform((value: string) => Math.round(Number(value) * 1000)),
  )
}

export function path(usual: string) {
  const { isAbsolute } = isWindows ? win32 : posix
  return z._default(text(`write a path from the root, such as ${usual}`, isAbsolute), usual)
}

const proxyUrl = z.optional(
  text('write the address of a proxy, such as http://proxy.example.com:3128', (value) =>
    ['http:', 'https:'].includes(parseAddress(value)?.protocol ?? ''),
  ),
)

export const keyWanted =
  'write the key of the fleet as the relay has it: "whsec_" and the base64 of 24 to 64 bytes; ' +
  'or set FOGHORN_AUDIENCE instead, if this VM has a managed identity'

const table = {
  FOGHORN_RELAY_URL: variable(
    'Required. The address of the relay: https, or loopback.',
    text(
      'write the https address of your relay without user, query or fragment, such as ' +
        'https://foghorn.example.com; plain http is allowed to this machine only',
      isRelayUrl,
    ),
  ),
  FOGHORN_FLEET: variable(
    'Required. The name of the fleet in the configuration.',
    // it is sent in a header
    text(
      'write the name of the fleet as the relay has it in "fleets", such as production, in up to ' +
        '128 visible ASCII characters without spaces',
      (value) => /^[\x21-\x7e]{1,128}$/.test(value),
    ),
  ),
  FOGHORN_FLEET_KEY: variable(
    'Required, or `FOGHORN_AUDIENCE`. The key of the fleet: `whsec_` and base64.',
    z.optional(
      z.string().check(z.refine(isKey, `is not a valid key (it is not shown here): ${keyWanted}`)),
    ),
  ),
  FOGHORN_AUDIENCE: variable(
    'In place of the key. The audience of the tokens that the identity of the VM gets.',
    z.optional(
      text(
        'write what the relay has in "audience" of the fleet\'s "entra", such as api://foghorn',
        (value) => /^[\x21-\x7e]{1,256}$/.test(value) && !value.startsWith('whsec_'),
      ),
    ),
  ),
  FOGHORN_IDENTITY_CLIENT_ID: variable(
    'Which user-assigned identity to use, if the VM has several.',
    z.optional(
      text(
        'write the client id (a GUID) of the user-assigned identity, or leave it out',
        (value) => z.guid().safeParse(value).success,
      ),
    ),
  ),
  FOGHORN_IMDS_URL: variable(
    'The origin of IMDS. Only VMs outside a virtual network need another one.',
    z._default(
      text(
        `write an http origin without a path, such as ${defaultImdsUrl}, or leave it out`,
        isHttpOrigin,
      ),
      defaultImdsUrl,
    ),
    defaultImdsUrl,
  ),
  FOGHORN_POLL_SECONDS: variable(
    `From ${pollSeconds.least} to ${pollSeconds.most}. The beacon sends at most four requests a second.`,
    seconds(pollSeconds),
    pollSeconds.usual,
  ),
  FOGHORN_STATE_DIR: variable(
    'The folder for changes that the relay has not accepted yet. A second beacon on it exits.',
    z._default(z.string(), defaultStateDirectory),
    defaultStateDirectory,
  ),
  FOGHORN_LOG_LEVEL: variable(
    `One of ${levels.join(', ')}.`,
    z._default(z.enum(levels, { error: wrong(`write one of ${levels.join(', ')}`) }), 'info'),
    'info',
  ),
  FOGHORN_HOOKS: variable(
    'The folder with the programs `prepare` and `restore`. On Windows `hooks` beside the executable.',
    path(hookPlaces.folder),
    folderOfHooks,
  ),
  FOGHORN_HOOK_SOCKET: variable(
    'The socket of the runner of hooks. On Windows the named pipe `foghorn-hooks`, only for `check`.',
    path(hookPlaces.socket),
    socketOfHooks,
  ),
  FOGHORN_HOOK_LEAD_SECONDS: variable(
    `How long before NotBefore \`prepare\` starts. From ${leadSeconds.least} to ${leadSeconds.most}.`,
    seconds(leadSeconds),
    leadSeconds.usual,
  ),
  FOGHORN_HOOK_EVENT_TYPES: variable(
    `The types of events that hooks run for: \`${everyType}\`, or a list such as \`Reboot,Redeploy\`. \`${adviceType}\` must be named.`,
    z.pipe(
      z._default(
        text(
          `write "${everyType}", or a list of ${documentedTypes.join(', ')} with commas`,
          (value) => isEveryType(value) || typesIn(value).every((type) => type !== undefined),
        ),
        everyType,
      ),
      z.transform((value: string) =>
        isEveryType(value) ? undefined : typesIn(value).filter((type) => type !== undefined),
      ),
    ),
    everyType,
  ),
  HTTPS_PROXY: variable(
    'The proxy for requests to the relay. Requests to IMDS never use it.',
    proxyUrl,
  ),
  NO_PROXY: variable('Hosts that the beacon reaches without the proxy.', z.optional(z.string())),
}

/** The variables by name, for the documentation. */
export const variables: Record<string, Pick<Variable<unknown>, 'about' | 'usual'>> = table

type Name = keyof typeof table
export const allNames = Object.keys(table) as Name[]

/** Reads the variables of these names. Adds a sentence to `problems` for each that is wrong. */
export function readVariables<N extends Name>(
  names: readonly N[],
  environment: Environment,
  problems: string[],
): Values<typeof table, N> {
  return readTable(table, names, environment, problems)
}

type Table = Record<string, Variable<unknown>>
type Values<T extends Table, N extends keyof T> = { [K in N]: z.infer<T[K]['schema']> }

export function readTable<T extends Table, N extends keyof T & string>(
  table: T,
  names: readonly N[],
  environment: Environment,
  problems: string[],
): Values<T, N> {
  const entries = names.map((name) => {
    // programs write the names of proxies in either case; the other names have one
    const written =
      name.endsWith('_PROXY') && environment[name.toLowerCase()] ? name.toLowerCase() : name
    const read = table[name]!.schema.safeParse(environment[written]?.trim() || undefined)
    if (!read.success) problems.push(`${written} ${read.error.issues[0]?.message}`)
    return [name, read.data]
  })
  return Object.fromEntries(entries)
}

function isRelayUrl(value: string): boolean {
  const url = parseAddress(value)
  if (url === undefined || url.username !== '' || url.search !== '' || url.hash !== '') return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
}

function isHttpOrigin(value: string): boolean {
  const url = parseAddress(value)
  return url?.protocol === 'http:' && url.href === `${url.origin}/`
}

function isKey(value: string): boolean {
  try {
    secretBytes(value)
    return true
  } catch {
    return false
  }
}

function isEveryType(value: string): boolean {
  return value.toLowerCase() === everyType
}

function typesIn(value: string): (string | undefined)[] {
  return value.split(',').map((name) => knownType(name.trim()))
}

function parseAddress(value: string): URL | undefined {
  return URL.canParse(value) ? new URL(value) : undefined
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

/** The value in quotes. Secrets in the wrong place are masked. */
function shown(value: string): string {
  // what comes before the last @ may be a password, which may contain any character
  const masked = value.replace(/whsec_\S*/g, '[secret]').replace(/^(\w+:\/\/)?.*@/s, '$1[secret]@')
  return `"${cut(masked, 80)}"`
}
