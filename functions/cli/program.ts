// A program of several commands: `foghorn COMMAND`.
import packageJson from '../../package.json' with { type: 'json' }
import { giveAddressesTime } from '../../shared/addresses.ts'
import { didYouMean } from '../schema/suggest.ts'
import { type Command, exitCodes, processIo, runCommand } from './command.ts'

/** What one line of help says of a command, and where it is. */
export type Entry = [summary: string, load: () => Promise<Command>]

interface Program {
  /** The commands of each group, under its title. */
  groups: Record<string, Record<string, Entry>>
  /** What a user writes before the name of a command. Default: `npm run`. */
  call?: string
  /** How help begins and ends. */
  help: { first: string; last: string }
}

export async function runProgram(
  { groups, call, help }: Program,
  [name, ...words]: string[],
): Promise<void> {
  giveAddressesTime()
  endWithNpm()
  const commands: Record<string, Entry> = Object.assign({}, ...Object.values(groups))
  if (name === undefined || name === '--help' || name === '-h') {
    const listed = Object.entries(groups).map(
      ([group, own]) => `${group}:\n${Object.entries(own).map(describeLine).join('\n')}`,
    )
    process.stdout.write(`${[help.first, ...listed, help.last].join('\n\n')}\n`)
  } else if (name === '--version') {
    process.stdout.write(`${packageJson.version}\n`)
  } else if (Object.hasOwn(commands, name)) {
    const loaded = await commands[name]![1]()
    process.exitCode = await runCommand(name, loaded, words, processIo(call))
  } else {
    const meant = didYouMean(name, Object.keys(commands))
    process.stderr.write(`there is no command "${name}"; foghorn --help lists all${meant}\n`)
    process.exitCode = exitCodes.wrong
  }
}

const npmLookMs = 1_000

/** A shell of npm passes no signal on: what `npm run` began must not outlive npm. */
function endWithNpm(): void {
  const { ppid, env } = process
  if (env.npm_lifecycle_event === undefined || process.platform === 'win32') return
  const look = setInterval(() => {
    if (process.ppid === ppid) return
    // a second signal would end what ends in order
    clearInterval(look)
    process.kill(process.pid, 'SIGTERM')
  }, npmLookMs)
  look.unref()
}

function describeLine([name, [summary]]: [string, Entry]): string {
  return `  ${name.padEnd(15)}${summary}`
}
