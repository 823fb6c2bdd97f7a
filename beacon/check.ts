// `foghorn-beacon check`: looks at everything that a beacon needs, and says how to fix problems. It
// disturbs nothing: it opens no file of the state folder, and the relay stores nothing.
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { unreadExceptions } from '../shared/addresses.ts'
import {
  type CheckAnswer,
  type CheckRequest,
  checkAnswerSchema,
  checkPath,
} from '../shared/check.ts'
import { messageOf } from '../shared/errors.ts'
import { parseJson } from '../shared/json.ts'
import type { Log } from '../shared/log.ts'
import type { Vm } from '../shared/report.ts'
import { signatureToleranceMs } from '../shared/signature.ts'
import { cut, wrap } from '../shared/text.ts'
import type { Clock } from './clock.ts'
import { checkHooks } from './hooks/check.ts'
import type { Failed, FailureClass, Imds } from './imds.ts'
import { type Posted, problemIn, type RelayClient, reasonIn } from './relay-client.ts'
import type { Settings } from './settings.ts'
import { spoolFileName } from './spool.ts'

/** With less free space SQLite cannot write a journal. */
const leastFreeBytes = 64 * 1024

/** Parts that log get this log: their failures are findings. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** Prints each finding as soon as it is known. Whether all is well. */
export async function check(parts: CheckParts): Promise<boolean> {
  const { settings, print } = parts
  const signal = new AbortController().signal
  print(`Asking IMDS at ${settings.imdsUrl}. Its first answer to a VM may take two minutes.`)
  const identity = parts.imds.identify(signal)
  const checks: (() => Promise<Finding[]> | Finding[])[] = [
    () => checkImds(parts, signal),
    async () => describeVm(await identity),
    async () => checkRelay(parts, await identity, signal),
    () => checkStateFolder(settings.stateDirectory),
    async () => [await hooksFinding(settings.hooks)],
    () => proxyFindings(settings.proxy),
  ]
  let isWell = true
  for (const findings of checks) {
    for (const { result, about, text, command } of await findings()) {
      print(`${result.padEnd(4)}  ${about.padEnd(11)}  ${text}`, command)
      if (result === 'fix') isWell = false
    }
  }
  return isWell
}

/** Nothing to say where all is understood. */
function proxyFindings({ NO_PROXY = '' }: CheckParts['settings']['proxy']): Finding[] {
  const unread = unreadExceptions(NO_PROXY).map((entry) => JSON.stringify(entry))
  if (unread.length === 0) return []
  const what = `NO_PROXY has entries that name no host: ${unread.join(', ')}`
  return [fix('proxy', `${what}; write names or addresses, each with or without a port`)]
}

async function hooksFinding(hooks: CheckParts['settings']['hooks']): Promise<Finding> {
  const found = await checkHooks(hooks)
  return found.ok ? ok('hooks', found.says) : fix('hooks', found.says)
}

export function checkStateFolder(directory: string): Finding[] {
  const folder = resolve(directory)
  const remedy = 'set FOGHORN_STATE_DIR to a folder that the beacon may write to'
  try {
    const existing = nearest(folder)
    if (!statSync(existing).isDirectory()) {
      return [fix('state', `${existing} is not a folder; ${remedy}`)]
    }
    accessSync(existing, constants.W_OK | constants.X_OK)
    const file = join(folder, spoolFileName)
    if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK)
    if (!hasSpace(existing)) {
      return [fix('state', `the disk is full; free space on the disk that holds ${existing}`)]
    }
    const what = existing === folder ? 'can be written' : 'will be created'
    return [ok('state', `${folder} ${what}`)]
  } catch (error) {
    return [fix('state', `${folder} cannot be used (${messageOf(error)}); ${remedy}`)]
  }
}

function hasSpace(directory: string): boolean {
  const { bavail, bsize, ffree, files } = statfsSync(directory)
  return bavail * bsize >= leastFreeBytes && (files === 0 || ffree > 0)
}

/** The folder, or the nearest one above it that exists. */
function nearest(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearest(dirname(folder))
}

interface CheckParts {
  settings: Pick<Settings, 'relayUrl' | 'imdsUrl' | 'stateDirectory' | 'hooks' | 'proxy'>
  imds: Pick<Imds, 'poll' | 'identify'>
  client: Pick<RelayClient, 'post'>
  clock: Clock
  /** Gets one line of the output. `command`: its end, which people copy. */
  print(line: string, command?: string): void
}

/** The width of the first columns. */
const indent = ' '.repeat(19)

/** A line of the output as a terminal of so many columns shows it. Undefined: it is read by a program. */
export function layOut(line: string, command: string | undefined, columns?: number): string[] {
  const end = command === undefined ? [] : [command]
  if (columns === undefined) return [[line, ...end].join(' ')]
  return [...wrap(line, columns, '', indent), ...end.map((one) => indent + one)]
}

/** One line of the output. */
export interface Finding {
  /** `skip`: not known, mostly because of another finding. */
  result: 'ok' | 'fix' | 'skip'
  about: string
  /** With `fix`: what is wrong, and what to do. */
  text: string
  command?: string
}

const ok = (about: string, text: string): Finding => ({ result: 'ok', about, text })
const fix = (about: string, text: string): Finding => ({ result: 'fix', about, text })
const skip = (about: string, text: string): Finding => ({ result: 'skip', about, text })

/** The check polls IMDS as often as a running beacon does. */
const pollMs = 1_000
/** Enough to fall back through all api-versions. */
const maxPolls = 50

/** Polls until an api-version works. IMDS takes this beside the polls of a running beacon. */
export async function checkImds(
  {
    imds,
    clock,
    settings,
  }: Pick<CheckParts, 'imds' | 'clock'> & { settings: Pick<CheckParts['settings'], 'imdsUrl'> },
  signal: AbortSignal,
): Promise<Finding[]> {
  for (let polls = 1; ; polls++) {
    const poll = await imds.poll(signal)
    if (poll.kind === 'document') {
      const { events, unreadable } = poll.document
      const odd = unreadable.count === 0 ? '' : `, ${unreadable.count} of them unreadable`
      const count = `${events.length + unreadable.count} events now${odd}`
      return [ok('imds', `${settings.imdsUrl} answers, api-version ${poll.apiVersion}, ${count}`)]
    }
    if (poll.class !== 'fallback' || polls === maxPolls) {
      return [fix('imds', `${poll.reason}; ${remedyFor(poll)}`)]
    }
    await clock.sleep(pollMs, signal)
  }
}

const later = 'check again in a minute'
const elsewhere = 'run this on an Azure VM, and correct FOGHORN_IMDS_URL if you set it'
const remedies: Record<FailureClass, string> = {
  fallback: later,
  updating: later,
  throttled: `programs on this VM ask IMDS too often; ${later}`,
  transient: later,
  absent: elsewhere,
}

function remedyFor(failed: Failed): string {
  if (failed.status !== undefined) return remedies[failed.class]
  return `${elsewhere}; on an Azure VM, allow this program to reach IMDS through firewalls`
}

export function describeVm(identity: { kind: 'vm'; vm: Vm } | Failed): Finding[] {
  if (identity.kind === 'failed') {
    const unknown = 'not checked: IMDS did not say which VM this is'
    return [
      skip('vm', `IMDS did not say which VM this is: ${identity.reason}`),
      skip('reboots', unknown),
    ]
  }
  const { name, resourceGroup, scaleSet } = identity.vm
  const group = resourceGroup === '' ? 'no resource group' : `resource group ${resourceGroup}`
  const set = scaleSet === '' ? 'no scale set' : `scale set ${scaleSet}`
  const reboots = { ...ok('reboots', rebootsText), command: composeCommand(identity.vm) }
  return [ok('vm', `${name}, ${group}, ${set}`), reboots]
}

/** Azure itself can approve what the owner requests. It is a preview of Azure's. */
const rebootsText =
  'those that you request wait for an approval. If Azure should approve them itself (a preview):'

function composeCommand({ name, resourceGroup, scaleSet }: Vm): string {
  const at = (named: string) => `-g ${resourceGroup || 'GROUP'} -n ${named}`
  return scaleSet === ''
    ? `az vm update ${at(name)} --enable-user-reboot-scheduled-events true --enable-user-redeploy-scheduled-events true`
    : `az vmss update ${at(scaleSet)} --set 'scheduledEventsPolicy=${JSON.stringify(approvesItself)}'`
}

/** `scheduledEventsPolicy` of Microsoft.Compute, api-version 2024-07-01. */
const approvesItself = {
  userInitiatedReboot: { automaticallyApprove: true },
  userInitiatedRedeploy: { automaticallyApprove: true },
}

async function checkRelay(
  { client, clock, settings }: Pick<CheckParts, 'client' | 'clock' | 'settings'>,
  identity: { kind: 'vm'; vm: Vm } | Failed,
  signal: AbortSignal,
): Promise<Finding[]> {
  const vm = identity.kind === 'vm' ? identity.vm : null
  const request: CheckRequest = { version: 1, vm }
  const posted = await client.post(checkPath, () => JSON.stringify(request), signal)
  return relayFindings(posted, settings.relayUrl, clock.now())
}

/** The check prints these findings in this order. */
const askedOfRelay = ['relay', 'certificate', 'credential', 'clock', 'heard']

/** `now` is when the answer arrived, by this VM's clock. */
export function relayFindings(posted: Posted, url: string, now: number): Finding[] {
  const findings = foundIn(posted, url, now)
  return askedOfRelay.map(
    (about) =>
      findings.find((one) => one.about === about) ??
      skip(about, 'not checked: something else must be fixed first'),
  )
}

/** The findings that the answer alone tells. */
function foundIn(posted: Posted, url: string, now: number): Finding[] {
  if (posted.kind === 'unready') return [fix('credential', posted.reason)]
  if (posted.kind === 'unanswered') {
    const remedy = certificateRemedy(posted.reason)
    if (remedy === undefined) return [fix('relay', unreachable(url, posted.reason))]
    const reached = ok('relay', `${url} can be reached`)
    return [reached, fix('certificate', `${posted.reason}; ${remedy}`)]
  }
  const { status, text } = posted
  const certificate = url.startsWith('https:')
    ? ok('certificate', 'it is valid')
    : skip('certificate', 'not checked: the address begins with http')
  const reached = [ok('relay', `${url} answers`), certificate]
  const answer = status === 200 ? checkAnswerSchema.safeParse(parseJson(text)).data : undefined
  if (answer !== undefined) {
    const accepted = ok('credential', `the relay accepts it for the fleet "${answer.fleet}"`)
    return [
      ...reached,
      accepted,
      clockFinding(answer.time - now, answer.relayAheadMs),
      ...heardFindings(answer),
    ]
  }
  const problem = problemIn(text)
  if (status === 401 && problem !== undefined) {
    const clock = problem.time === undefined ? [] : [clockFinding(problem.time - now)]
    return [...reached, fix('credential', reasonIn(posted)), ...clock]
  }
  if (status === 404 && problem?.code === 'not_found') {
    const remedy = 'update the relay, which is older than this beacon'
    return [fix('relay', `${url} does not support this check; ${remedy}`), certificate]
  }
  const said =
    status === 200 ? `the answer does not come from a relay: ${cut(text, 60)}` : reasonIn(posted)
  return [fix('relay', unreachable(url, said))]
}

function unreachable(url: string, reason: string): string {
  return `${url}: ${reason}; check FOGHORN_RELAY_URL, HTTPS_PROXY, NO_PROXY and firewalls`
}

/** The remedy for a failed TLS handshake, whose reason begins with the code of the error. */
function certificateRemedy(reason: string): string | undefined {
  const code = /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)\w*/.exec(
    reason,
  )?.[0]
  if (code === undefined) return undefined
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return "renew the relay's certificate, or correct this VM's clock"
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return 'set FOGHORN_RELAY_URL to a host name that the certificate contains'
  }
  return 'if your own CA signed it, set NODE_EXTRA_CA_CERTS to the file with its certificate'
}

/** Requests take different times to arrive. */
const alikeMs = 60_000

/**
 * `offsetMs` is the relay's clock minus this VM's. `relayAheadMs`: the same for most VMs, if that is
 * much.
 */
function clockFinding(offsetMs: number, relayAheadMs = 0): Finding {
  const direction = offsetMs > 0 ? 'behind' : 'ahead of'
  const text = `${describeMs(Math.abs(offsetMs))} ${direction} the relay's`
  if (Math.abs(offsetMs) <= signatureToleranceMs) return ok('clock', text)
  if (relayAheadMs !== 0 && Math.abs(offsetMs - relayAheadMs) <= alikeMs) {
    const remedy = "switch on the time synchronization of the relay's machine"
    return fix('clock', `${text}, as are the clocks of most VMs: the relay's is wrong; ${remedy}`)
  }
  return fix('clock', `${text}; switch on this VM's time synchronization`)
}

/** A check that works proves nothing about the service, so a service that does not report is red. */
function heardFindings({ beacon, heardAt, state, time }: CheckAnswer): Finding[] {
  if (beacon === undefined) return []
  const remedy = 'start the service foghorn-beacon; if it runs, look at its log'
  if (heardAt === undefined) {
    return [fix('heard', `the relay has not heard the beacon "${beacon}" yet; ${remedy}`)]
  }
  const heard = `the relay heard the beacon "${beacon}" ${describeMs(Math.max(0, time - heardAt))} ago`
  if (state === 'silent') return [fix('heard', `${heard}, and counts it as silent; ${remedy}`)]
  if (state === 'left') return [fix('heard', `${heard}, when it was stopped; ${remedy}`)]
  return [ok('heard', heard)]
}

function describeMs(ms: number): string {
  if (ms < 120_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`
  return ms < 2 * 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`
}
