// What all commands share: how their words are read, how they show help, and how they fail. A command is
// a value; infra/commands.ts lists them, and `foghorn NAME` runs one.
import { createInterface } from 'node:readline/promises'
import { type ParseArgsConfig, parseArgs, styleText } from 'node:util'
import { documentedTypes, knownType } from '../../shared/document.ts'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { visible } from '../../shared/presentable.ts'
import { withoutLineBreaks } from '../config/environment.ts'
import { didYouMean, nearest } from '../schema/suggest.ts'
import { wrap } from './layout.ts'

/** Every command exits with one of these codes. `wrong`: the user must change the input. */
export const exitCodes = { fine: 0, broken: 1, wrong: 2 }

type Options = NonNullable<ParseArgsConfig['options']>
type Values<Known extends Options> = ReturnType<typeof parseArgs<{ options: Known }>>['values']

export interface Given<Known extends Options> {
  options: Values<Known>
  /** The words that belong to no option. */
  words: string[]
  io: Io
}

interface TypedCommand<Known extends Options> {
  /** What follows the name: `FILE [--fleet NAME]`. */
  usage: string
  /** What the command does, its options and examples. */
  about: string
  options?: Known
  /** How many words it takes beside its options. Default: none. */
  words?: { least: number; most: number }
  /** May return a number, the exit code. */
  run(given: Given<Known>): unknown
}

export interface Command extends Omit<TypedCommand<Options>, 'run'> {
  run(given: Given<never>): unknown
}

/** Checks that `run` takes the options that the command has. */
export function command<const Known extends Options = Record<never, never>>(
  typed: TypedCommand<Known>,
): Command {
  return typed as Command
}

/** Where a command reads and writes. */
export interface Io {
  /** What a user writes before the name of a command. Default: `npm run`. */
  call?: string
  environment: NodeJS.ProcessEnv
  /** Prints the result on standard output. */
  print(text: string): void
  /** Prints a text beside the result, on standard error. */
  note(text: string): void
  /** Asks the person at the terminal, and returns the answer. Absent: nobody is there. */
  ask?(question: string): Promise<string>
  /** How far long work is: one line of a terminal, which the next one replaces. */
  progress(text: string): void
  /** Colours the text if standard output is a terminal. */
  paint(as: keyof typeof colors, text: string): string
  /** Colours the text if standard error is a terminal. */
  paintNote(as: keyof typeof colors, text: string): string
}

const colors = { ok: 'green', warning: 'yellow', mistake: 'red' } as const

export function processIo(call?: string): Io {
  const { stdin, stdout, stderr } = process
  // the reader has seen enough, as `head` does
  stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(exitCodes.fine)
  })
  let isOpen = false
  const clear = () => {
    if (isOpen) stderr.write('\r\x1b[K')
    isOpen = false
  }
  const write = (stream: NodeJS.WriteStream) => (text: string) => {
    clear()
    stream.write(`${text}\n`)
  }
  return {
    ...(call !== undefined && { call }),
    environment: withoutLineBreaks(process.env),
    print: write(stdout),
    note: write(stderr),
    ...(stdin.isTTY && { ask }),
    progress(text) {
      if (!stderr.isTTY) return
      clear()
      stderr.write(text)
      isOpen = text !== ''
    },
    paint: (as, text) => styleText(colors[as], text, { stream: stdout }),
    paintNote: (as, text) => styleText(colors[as], text, { stream: stderr }),
  }
}

async function ask(question: string): Promise<string> {
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await asking.question(question)
  } finally {
    asking.close()
  }
}

export const text = { type: 'string' } as const
export const texts = { type: 'string', multiple: true } as const
export const flag = { type: 'boolean' } as const

/** Runs a command with the words behind its name. Returns its exit code. */
export async function runCommand(
  name: string,
  { usage, about, options = {}, words: { least, most } = { least: 0, most: 0 }, run }: Command,
  given: string[],
  io: Io,
): Promise<number> {
  const called = (text: string) => asCalled(text, io)
  const call = called(`npm run ${name}${usage === '' ? '' : ` -- ${usage}`}`)
  try {
    const known = { ...options, help: { type: 'boolean', short: 'h' } } as const
    const { values, positionals } = parseWords(given, known)
    if (values.help) {
      io.print(`${call}\n\n${called(about.trim())}`)
      return exitCodes.fine
    }
    if (positionals.length < least)
      throw wrong(`${usage.split(' ')[positionals.length] ?? 'a word'} is missing; write ${call}`)
    if (positionals.length > most) {
      throw wrong(`"${positionals[most]}" is one word too many; write ${call}`)
    }
    const code = await run({ options: values as never, words: positionals, io })
    io.progress('')
    return typeof code === 'number' ? code : exitCodes.fine
  } catch (error) {
    const known = error instanceof FoghornError
    const lines = called(known ? error.message : describeMistake(error))
      .split('\n')
      .map(visible)
    // a line that is indented has its layout already
    const whole = lines.flatMap((line) => (line.startsWith(' ') ? line : wrap(line, '', '  ')))
    io.note(io.paintNote('mistake', whole.join('\n')))
    return known && error.code === 'arguments_wrong' ? exitCodes.wrong : exitCodes.broken
  }
}

/** A release has no npm, so texts name its own command. */
function asCalled(text: string, { call }: Io): string {
  return call === undefined ? text : text.replaceAll(/npm run ([a-z:-]+)(?: --)?/g, `${call} $1`)
}

const forbidden = ['EACCES', 'EPERM', 'EROFS']

function describeMistake(error: unknown): string {
  const { code = '', path } = error as NodeJS.ErrnoException
  if (path === undefined || !forbidden.includes(code)) return messageOf(error)
  return `"${path}" cannot be written (${code}); run this as a user who may, or in a copy of the folder`
}

/** Throws FoghornError `arguments_wrong`. */
function parseWords<const Known extends Options>(words: string[], options: Known) {
  try {
    return parseArgs({ args: words, options, allowPositionals: true })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (!code?.startsWith('ERR_PARSE_ARGS')) throw error
    const named = /'(?:-\w, )?(--?[\w-]+)/.exec(message)?.[1] ?? ''
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
      const meant = nearest(named.replace(/^-+/, ''), Object.keys(options))
      const suggestion = meant === undefined ? '' : `did you mean --${meant}? `
      throw wrong(`unknown option ${named}; ${suggestion}--help lists all options`)
    }
    if (message.includes('does not take an argument')) throw wrong(`${named} takes no value`)
    throw wrong(`${named} needs a value; write ${named}=VALUE`)
  }
}

/** The user must change the input. */
export function wrong(message: string): FoghornError {
  return new FoghornError('arguments_wrong', message)
}

/** Azure's spelling of an event's type. Throws FoghornError `arguments_wrong`. */
export function describeType(wanted: string): string {
  const known = knownType(wanted)
  if (known !== undefined) return known
  const types = documentedTypes.join(', ')
  throw wrong(
    `--type: there is no "${wanted}"; write ${types}${didYouMean(wanted, documentedTypes)}`,
  )
}

/** Tags from `NAME=VALUE` texts. */
export function tagsIn(given: string[]): Record<string, string> {
  const pairs = given.map((one) => {
    const [name = '', ...value] = one.split('=')
    return [name, value.join('=')]
  })
  return Object.fromEntries(pairs)
}

/** A number of seconds in an option. */
export function parseSeconds(
  named: string,
  given: string | undefined,
  least = Number.NEGATIVE_INFINITY,
  most = Number.POSITIVE_INFINITY,
): number | undefined {
  if (given === undefined) return undefined
  const seconds = Number(given)
  const isIn = seconds >= least && seconds <= most
  if (given.trim() !== '' && Number.isInteger(seconds) && isIn) return seconds
  const range = least > Number.NEGATIVE_INFINITY ? `, from ${least}` : ''
  const upTo = most < Number.POSITIVE_INFINITY ? ` to ${most}` : ''
  throw wrong(`${named} is "${given}"; write a whole number of seconds${range}${upTo}`)
}
