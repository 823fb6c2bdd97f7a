// Who could change what Linux starts by the first line of a hook: the interpreter, the program that `env` finds for
// it, and the interpreters of both if they are scripts.
import {
  accessSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs'
import { basename, join } from 'node:path'

interface Trust {
  /** Users who may own programs. */
  users: readonly number[]
  /** Where `env` looks for a name: folders, separated by colons. */
  path: string
}

/** Linux reads so much of a first line. */
const maxLineBytes = 255
/** Linux follows so many scripts that run each other. */
const maxScripts = 5
/** Linux follows so many links in a path. */
const maxLinks = 40
const anybodyMayWrite = 0o002
const sticky = 0o1000
const byteOrderMark = '\ufeff'

/** Undefined if nobody but these users could change what the file runs. `depth`: so many scripts lead to the file. */
export function interpreterFault(file: string, trust: Trust, depth = 0): string | undefined {
  const start = readStart(file)
  if (start === undefined) {
    const remedy = depth === 0 ? `run chmod a+r ${file}` : 'name another program'
    return `${file} cannot be read by the runner: ${remedy}`
  }
  const [first = ''] = start.split('\n')
  if (first.startsWith('#!') && first.endsWith('\r')) {
    return `${file} has the line ends of Windows: run sed -i 's/\\r$//' ${file}`
  }
  const line = /^#![ \t]*([^ \t]+)[ \t]*([\s\S]*?)[ \t]*$/.exec(first)
  if (line === null) {
    // compiled programs begin with bytes that no text has
    if (start === '' || start.includes('\0')) return undefined
    const fault = start.startsWith(byteOrderMark)
      ? 'begins with a byte order mark'
      : 'does not name its interpreter'
    return `${file} ${fault}: its first line must begin with #!, such as #!/bin/sh`
  }
  if (depth === maxScripts) return `${file} runs one more script than Linux follows: name a program`
  const [, interpreter = '', argument = ''] = line
  const script: Script = { file, trust, depth }
  return (
    programFault(script, interpreter) ??
    (isEnv(interpreter) ? commandFault(script, argument) : fileFault(script, argument))
  )
}

interface Script {
  /** Whose first line it is. */
  file: string
  trust: Trust
  depth: number
}

/** Undefined, too, if the program is a script and its own first line has no fault. */
function programFault({ file, trust, depth }: Script, program: string): string | undefined {
  if (!program.startsWith('/')) {
    return `${file} runs ${program}: write its whole path in the first line`
  }
  const walked = walkTo(program, trust)
  if ('fault' in walked) {
    return `${file} runs ${program}, but ${walked.fault}: name a program of root in its first line`
  }
  if ('missing' in walked) {
    return `${file} needs ${program}, which does not exist: correct its first line`
  }
  if (!isProgram(walked.real)) {
    return `${file} needs ${program}, which cannot be executed: correct its first line`
  }
  const isScript = readStart(walked.real)?.startsWith('#!') ?? true
  return isScript ? interpreterFault(walked.real, trust, depth + 1) : undefined
}

/** What is wrong with an argument that names a file. It may be missing, if nobody else can create it. */
function fileFault({ file, trust, depth }: Script, argument: string): string | undefined {
  if (argument.startsWith('-') || !argument.includes('/')) return undefined
  const walked = walkTo(argument, trust)
  if ('fault' in walked) {
    return `${file} names ${argument}, but ${walked.fault}: name a file of root in its first line`
  }
  const isScript = 'real' in walked && readStart(walked.real)?.startsWith('#!') === true
  return isScript && 'real' in walked ? interpreterFault(walked.real, trust, depth + 1) : undefined
}

function isEnv(program: string): boolean {
  return basename(program) === 'env'
}

/** Words that `env` takes as they are. */
const plainWord = /^[\w.,:+@%/=-]+$/
/** Other variables may name code, such as BASH_ENV and PYTHONPATH. */
const harmless = /^(LANG|LC_[A-Z]+|TZ)=/

/** What is wrong with the argument of `env`: `python3`, or `-S LANG=C python3 -u`. */
function commandFault(script: Script, argument: string): string | undefined {
  const { file } = script
  const isSplit = /^-S[ \t]/.test(argument)
  const words = isSplit
    ? argument
        .slice(2)
        .trim()
        .split(/[ \t]+/)
    : [argument]
  if (!isSplit && /[ \t]/.test(argument)) {
    return `${file} runs env with several words, which Linux passes as one: write env -S in its first line`
  }
  const at = words.findIndex((word) => !harmless.test(word))
  const command = words[at] ?? ''
  const isPlain = words.every((word) => plainWord.test(word))
  if (!isPlain || command.startsWith('-') || command.includes('=') || isEnv(command)) {
    return `${file} runs env with more than a name: name the program itself in the first line`
  }
  const fault = command.includes('/') ? programFault(script, command) : nameFault(script, command)
  const others = words.slice(at + 1)
  return fault ?? others.map((word) => fileFault(script, word)).find(Boolean)
}

/** What is wrong with a name that `env` looks for. It skips what cannot be executed. */
function nameFault(script: Script, name: string): string | undefined {
  for (const folder of script.trust.path.split(':')) {
    const program = join('/', folder, name)
    const walked = walkTo(program, script.trust)
    // a user who may write to this folder could put another program there
    if ('fault' in walked || ('real' in walked && isProgram(walked.real))) {
      return programFault(script, program)
    }
  }
  return `${script.file} needs ${name}, which is in no folder of PATH: correct its first line`
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/** `real`: the file itself, behind all links. `missing`: the first place that is not there, or out of reach. */
type Walked = { real: string } | { missing: string } | { fault: string }

/** Goes to a file as Linux does, from `/`, and looks at each folder and link on the way. */
function walkTo(path: string, { users }: Trust): Walked {
  const ahead = `/${path}`.split('/')
  let links = 0
  /** Has no link in it, so `..` leads to the folder above. */
  let place = '/'
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    const next = join(place, name)
    const stats = statsOf(next)
    if (stats === undefined) {
      const isOpenFolder = isOpen(lstatSync(place))
      return isOpenFolder ? { fault: `anybody may create ${next}` } : { missing: next }
    }
    const fault = placeFault(next, stats, users)
    if (fault !== undefined) return { fault }
    if (!stats.isSymbolicLink()) {
      place = next
      continue
    }
    links += 1
    if (links > maxLinks) return { fault: `${next} is one link more than Linux follows` }
    const target = readlinkSync(next)
    if (target.startsWith('/')) place = '/'
    ahead.unshift(...target.split('/'))
  }
  return { real: place }
}

function statsOf(place: string): Stats | undefined {
  try {
    return lstatSync(place)
  } catch {
    return undefined
  }
}

function placeFault(place: string, stats: Stats, users: readonly number[]): string | undefined {
  if (!users.includes(stats.uid)) return `${place} belongs to user ${stats.uid}`
  // nobody writes to a link; in a sticky folder, such as /tmp, nobody can replace what belongs to another
  const isGuarded = stats.isSymbolicLink() || (stats.isDirectory() && (stats.mode & sticky) !== 0)
  // such as /dev/null
  const isDevice = stats.isCharacterDevice()
  return isOpen(stats) && !isGuarded && !isDevice ? `anybody may write to ${place}` : undefined
}

function isOpen({ mode }: Stats): boolean {
  return (mode & anybodyMayWrite) !== 0
}

/** Undefined if this process may not read the file. */
function readStart(file: string): string | undefined {
  const start = Buffer.alloc(maxLineBytes)
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    return start.toString('utf8', 0, readSync(descriptor, start))
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
