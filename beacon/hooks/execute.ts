// Runs one program in a process group of its own, with a limit. When it ends, by itself or not, what
// it left running in its group is killed.
import type { ChildProcess } from 'node:child_process'
import { win32 } from 'node:path'
import type { Readable } from 'node:stream'
import { messageOf } from '../../shared/errors.ts'
import { maskTokens } from '../../shared/mask.ts'
import { visible } from '../../shared/presentable.ts'
import { cut } from '../../shared/text.ts'

/** SIGKILL comes at the limit. SIGTERM comes this time before, or a tenth of the limit if that is less. */
const longestTermMs = 5_000
/** If the runner itself is stopped, SIGKILL follows SIGTERM after this time. */
const stopTermMs = 500
/** A daemon outside the group may hold the output open for longer. */
const drainMs = 500
const isWindows = process.platform === 'win32'
/** Loaded with the first hook: a beacon whose hooks run elsewhere does not need it. */
const childProcess = () => process.getBuiltinModule('node:child_process')

interface Run {
  /** The environment of the program, complete. */
  environment: Record<string, string>
  input: string
  limitMs: number
  output: Output
}

export type End =
  | { kind: 'exited'; code: number }
  | { kind: 'timed_out' }
  /** The runner was stopped. */
  | { kind: 'stopped' }
  /** A signal from another process ended it. */
  | { kind: 'killed'; signal: string }
  | { kind: 'not_started'; reason: string }

/** Never rejects. */
export function execute(file: string, run: Run, stop: AbortSignal): Promise<End> {
  return new Promise((resolve) => {
    let child: ChildProcess
    try {
      child = describeStart(file, run)
    } catch (error) {
      return resolve({ kind: 'not_started', reason: messageOf(error) })
    }
    let why: 'timed_out' | 'stopped' | undefined
    const timers: NodeJS.Timeout[] = []
    const later = (ms: number, act: () => void) => timers.push(setTimeout(act, ms))
    const end = (how: End) => {
      for (const timer of timers) clearTimeout(timer)
      stop.removeEventListener('abort', onStop)
      resolve(how)
    }
    const finish = (reason: 'timed_out' | 'stopped', termMs: number) => {
      why ??= reason
      signalGroup(child, 'SIGTERM')
      later(termMs, () => signalGroup(child, 'SIGKILL'))
    }
    const onStop = () => finish('stopped', stopTermMs)
    const termMs = Math.min(longestTermMs, run.limitMs / 10)
    later(run.limitMs - termMs, () => finish('timed_out', termMs))
    stop.addEventListener('abort', onStop)
    child.on('error', (error) => {
      if (child.pid === undefined) end({ kind: 'not_started', reason: messageOf(error) })
    })
    child.on('exit', (code, signal) => {
      if (child.pid !== undefined && !isWindows) killGroup(child.pid, 'SIGKILL')
      const ended = () => end(describeEnd(why, code, signal))
      child.on('close', ended)
      later(drainMs, () => {
        child.stdout?.destroy()
        child.stderr?.destroy()
        ended()
      })
    })
    if (stop.aborted) onStop()
  })
}

function describeStart(file: string, run: Run): ChildProcess {
  const { program, words } = isWindows
    ? windowsCommand(file, run.environment)
    : { program: file, words: [] }
  const child = childProcess().spawn(program, words, {
    // not in a user's folder, and never the folder of the hook itself
    cwd: isWindows ? win32.parse(file).root : '/',
    env: run.environment,
    // a group of its own. On Windows it would open a window
    detached: !isWindows,
    windowsHide: true,
    windowsVerbatimArguments: isWindows,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  run.output.read(child.stdout)
  run.output.read(child.stderr)
  // A hook need not read its input.
  child.stdin.on('error', () => {})
  child.stdin.end(run.input)
  return child
}

/** Windows starts scripts only by their interpreters. */
export function windowsCommand(
  file: string,
  environment: Record<string, string>,
): { program: string; words: string[] } {
  const system = environment.SystemRoot ?? 'C:\\Windows'
  const ending = win32.extname(file).toLowerCase()
  if (ending === '.cmd') {
    return { program: `${system}\\System32\\cmd.exe`, words: ['/d', '/s', '/c', `""${file}""`] }
  }
  if (ending === '.ps1') {
    const program = `${system}\\System32\\WindowsPowerShell\\v1.0\\powershell.exe`
    const words = ['-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File']
    return { program, words: [...words, `"${file}"`] }
  }
  return { program: file, words: [] }
}

/** Signals the program and its children. Windows has no signals: both kill there. */
function signalGroup(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return
  if (isWindows) {
    const words = ['/pid', String(child.pid), '/t', '/f']
    const ending = childProcess().spawn('taskkill', words, { windowsHide: true })
    ending.on('error', () => child.kill())
    return
  }
  killGroup(child.pid, signal)
}

export function killGroup(group: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-group, signal)
  } catch (error) {
    // ESRCH: the group is empty. EPERM: what is left belongs to another user, as with sudo
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}

function describeEnd(
  why: 'timed_out' | 'stopped' | undefined,
  code: number | null,
  signal: string | null,
): End {
  // A hook that exits with 0 on SIGTERM has not done its work either.
  if (why !== undefined) return { kind: why }
  return code === null ? { kind: 'killed', signal: signal ?? 'a signal' } : { kind: 'exited', code }
}

/** Characters of one run's output. Later output is read and dropped, so that the hook never waits. */
export const maxOutputChars = 64 * 1024
const maxLineChars = 1_000

interface Output {
  /** Reads a stream to its end. */
  read(stream: Readable): void
  /** The last line that is not empty, so far. */
  lastLine(): string
}

/** `onLine` gets each line, without control characters. `onFull`: later lines are dropped. */
export function createOutput(onLine: (line: string) => void, onFull: () => void): Output {
  let last = ''
  let left = maxOutputChars
  const take = (text: string) => {
    const line = cut(maskTokens(visible(text)).trim(), maxLineChars)
    if (line === '') return
    last = line
    if (left <= 0) return
    left -= line.length
    onLine(line)
    if (left <= 0) onFull()
  }
  return {
    read(stream) {
      const decoder = new TextDecoder()
      let rest = ''
      stream.on('data', (chunk: Buffer) => {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) take(line)
        if (rest.length <= maxLineChars) return
        take(rest)
        rest = ''
      })
      const flush = () => {
        take(rest)
        rest = ''
      }
      stream.on('end', flush).on('close', flush)
      // A process that was killed may break its pipe.
      stream.on('error', flush)
    },
    lastLine: () => last,
  }
}
