// The command line: which command the words name, and what `--help` says.

import { writeSync } from 'node:fs'
import { drainVariables } from './kubernetes/settings.ts'
import { type Variable, variables } from './variables.ts'

export interface Command {
  /** What a user types after `foghorn-beacon`. Empty if the command has no word. */
  words: string
  about: string
  /** Returns the exit code. */
  run(): Promise<number> | number
}

interface Terminal {
  out(line: string): void
  error(line: string): void
}

const program = 'foghorn-beacon'

/** `failed`: after a start. `wrong`: the settings or the words; a restart does not help. */
export const exitCodes = { fine: 0, failed: 1, wrong: 2 }

/** Runs the command that is named, and returns its exit code. `version` is that of the software. */
export async function runCommand(
  commands: readonly Command[],
  words: readonly string[],
  version: string,
  terminal: Terminal,
): Promise<number> {
  const all: Command[] = [
    ...commands,
    {
      words: '--version',
      about: 'prints the version',
      run: () => say(`${program} ${version}`),
    },
    { words: '--help', about: 'prints this', run: () => say(helpFor(all)) },
  ]
  const say = (text: string) => {
    terminal.out(text)
    return exitCodes.fine
  }
  const given = words.join(' ')
  const wanted = words.at(-1) === '--help' ? '--help' : given
  const command = all.find((one) => one.words === wanted)
  if (command !== undefined) return command.run()
  terminal.error(`There is no command "${given}". The commands are:\n\n${writeTable(all)}`)
  return exitCodes.wrong
}

function helpFor(commands: readonly Command[]): string {
  return [
    'Reports the Scheduled Events of this Azure VM to a Foghorn relay.',
    '',
    writeTable(commands),
    '',
    'Settings, as environment variables:',
    '',
    ...settingsIn(variables),
    '',
    'Settings of "hooks --kubernetes":',
    '',
    ...settingsIn(drainVariables),
  ].join('\n')
}

function settingsIn(named: Record<string, Pick<Variable<unknown>, 'about' | 'usual'>>): string[] {
  return Object.entries(named).map(([name, { usual, about }]) => {
    const text = about.replaceAll('`', '')
    return `  ${name}\n      ${text}${usual === '' ? '' : ` Default: ${usual}.`}`
  })
}

function writeTable(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ words }) => words.length))
  const rows = commands.map(({ words, about }) => `  ${program} ${words.padEnd(width)}  ${about}`)
  return rows.join('\n')
}

type Stream = 'stdout' | 'stderr'

const descriptors: Record<Stream, number> = { stdout: 1, stderr: 2 }
/** A Windows console needs text in place of bytes, which only the streams write. */
const streaming = new Set<Stream>(process.platform === 'win32' ? ['stdout', 'stderr'] : [])

/** `out` and `error` each get one line without its end. */
export const terminal = {
  out: (line: string) => print('stdout', line),
  error: (line: string) => print('stderr', line),
  /** Undefined: a program reads the output. */
  columns(): number | undefined {
    const { isatty, WriteStream } = process.getBuiltinModule('node:tty')
    if (!isatty(descriptors.stdout)) return undefined
    // a serial console may have none
    return new WriteStream(descriptors.stdout).columns || undefined
  },
}

function print(stream: Stream, line: string): void {
  let rest = Buffer.from(`${line}\n`)
  while (rest.length > 0 && !streaming.has(stream)) {
    try {
      rest = rest.subarray(writeSync(descriptors[stream], rest))
    } catch {
      // A reader is slow, or gone. The stream waits for a slow one, and keeps the order of lines.
      streaming.add(stream)
    }
  }
  if (rest.length > 0) process[stream].write(rest)
}
