// The settings of hooks. The beacon reads when to run them, the runner reads where they are.
import { posix, win32 } from 'node:path'
import { eventTypes, knownType } from '../../shared/document.ts'
import type { Level } from '../../shared/log.ts'
import { type Environment, parseLevel, type Read, reader, shown, Wrong } from '../read-variable.ts'

/** What the beacon needs to know of hooks. */
export interface HookSettings {
  folder: string
  socket: string
  leadMs: number
  /** Names as Azure writes them; undefined for every type, also one that Azure adds later. */
  eventTypes: readonly string[] | undefined
}

interface RunnerSettings {
  folder: string
  socket: string
  logLevel: Level
}

interface Place {
  platform: string
  /** The program that runs. */
  execPath: string
}

const defaultFolder = '/etc/foghorn/hooks'
const defaultSocket = '/run/foghorn/hooks.sock'
const defaultPipe = '\\\\.\\pipe\\foghorn-hooks'
const defaultLeadSeconds = 600
const mostLeadSeconds = 86_400
const every = 'all'

export const hookVariables: Record<string, { usual: string; about: string }> = {
  FOGHORN_HOOKS: {
    usual: defaultFolder,
    about:
      'The folder with the programs `prepare` and `restore`. On Windows `hooks` beside the executable.',
  },
  FOGHORN_HOOK_SOCKET: {
    usual: defaultSocket,
    about:
      'The socket of the runner of hooks. On Windows the named pipe `foghorn-hooks`, only for `check`.',
  },
  FOGHORN_HOOK_LEAD_SECONDS: {
    usual: String(defaultLeadSeconds),
    about: `How long before NotBefore \`prepare\` starts. From 0 to ${mostLeadSeconds}.`,
  },
  FOGHORN_HOOK_EVENT_TYPES: {
    usual: every,
    about: `The types of events that hooks run for: \`${every}\`, or a list such as \`Reboot,Redeploy\`.`,
  },
}

export function readHookSettings(read: Read, place: Place = process): HookSettings | undefined {
  const places = readPlaces(read, place)
  const leadMs = read('FOGHORN_HOOK_LEAD_SECONDS', parseLeadMs)
  const types = read('FOGHORN_HOOK_EVENT_TYPES', parseTypes)
  if (places === undefined || leadMs === undefined || types === undefined) return undefined
  return { ...places, leadMs, eventTypes: types === every ? undefined : types }
}

/** For the runner alone, which needs no setting. */
export function readRunnerSettings(
  environment: Environment,
  place: Place = process,
): RunnerSettings | { problems: string[] } {
  const problems: string[] = []
  const read = reader(environment, problems)
  const places = readPlaces(read, place)
  const logLevel = read('FOGHORN_LOG_LEVEL', parseLevel)
  if (places === undefined || logLevel === undefined) return { problems }
  return { ...places, logLevel }
}

function readPlaces(
  read: Read,
  { platform, execPath }: Place,
): { folder: string; socket: string } | undefined {
  const isWindows = platform === 'win32'
  const { isAbsolute } = isWindows ? win32 : posix
  const beside = win32.join(win32.dirname(execPath), 'hooks')
  const usual = isWindows
    ? { folder: beside, socket: defaultPipe }
    : { folder: defaultFolder, socket: defaultSocket }
  const parsePath = (example: string) => (text: string | undefined) => {
    if (text === undefined || isAbsolute(text)) return text ?? example
    return new Wrong(`is ${shown(text)}: write a path from the root, such as ${example}`)
  }
  const folder = read('FOGHORN_HOOKS', parsePath(usual.folder))
  const socket = read('FOGHORN_HOOK_SOCKET', parsePath(usual.socket))
  return folder === undefined || socket === undefined ? undefined : { folder, socket }
}

function parseLeadMs(text: string | undefined): number | Wrong {
  const seconds = text === undefined ? defaultLeadSeconds : Number(text)
  if (seconds >= 0 && seconds <= mostLeadSeconds) return Math.round(seconds * 1000)
  return new Wrong(
    `is ${shown(text ?? '')}: write seconds from 0 to ${mostLeadSeconds}, or leave it out for ${defaultLeadSeconds}`,
  )
}

function parseTypes(text: string | undefined): string[] | typeof every | Wrong {
  if (text === undefined || text.toLowerCase() === every) return every
  const names = text.split(',').map((name) => name.trim())
  const types = names.map(knownType).filter((type) => type !== undefined)
  if (types.length === names.length) return types
  const wrong = names.filter((name) => knownType(name) === undefined).join(',')
  return new Wrong(
    `names ${shown(wrong)}: write "${every}", or a list of ${eventTypes.join(', ')} with commas`,
  )
}
