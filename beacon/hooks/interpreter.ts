// Who could change what Linux starts by the first line of a hook: the interpreter, the program that `env` finds for
// it, and the interpreters of both if they are scripts.
import { closeSync, lstatSync, openSync, readlinkSync, readSync, type Stats } from 'node:fs'
import { basename, join } from 'node:path'

interface Trust {
  /** Users who may own programs. */
  users: readonly number[]
  /** Where `env` looks for a name: folders, separated by colons. */
  path: string
}

/** Linux follows so many scripts that run each other. */
const maxScripts = 5
/** Linux follows so many links in a path. */
const maxLinks = 40
const anybodyMayWrite = 0o002
const sticky = 0o1000
/** `readFirstLine` reads a byte order mark as these characters. */
const byteOrderMark = '\xef\xbb\xbf'

/** Undefined if nobody but these users could change what the file runs. `depth`: so many scripts lead to the file. */
export function interpreterFault(file: string, trust: Trust, depth = 0): string | undefined {
  const start = readFirstLine(file)
  const [first = ''] = start.split('\n')
  const [interpreter = '', ...words] = /^#!(.*)/.exec(first)?.[1]?.trim().split(/\s+/) ?? []
  if (interpreter === '') {
    // compiled programs begin with bytes that no text has
    if (start === '' || start.includes('\0')) return undefined
    const fault = start.startsWith(byteOrderMark)
      ? 'begins with a byte order mark'
      : 'does not name its interpreter'
    return `${file} ${fault}: its first line must begin with #!, such as #!/bin/sh`
  }
  if (first.endsWith('\r')) {
    return `${file} has the line ends of Windows: run sed -i 's/\\r$//' ${file}`
  }
  if (depth === maxScripts) return `${file} runs one more script than Linux follows: name a program`
  return (
    programFault(file, interpreter, trust, depth) ??
    (basename(interpreter) === 'env' ? commandFault(file, words, trust, depth) : undefined) ??
    words
      .filter((word) => word.startsWith('/'))
      .map((word) => programFault(file, word, trust, depth, 'may be missing'))
      .find(Boolean)
  )
}

/** Undefined, too, if the program is a script and its own first line has no fault. */
function programFault(
  file: string,
  program: string,
  trust: Trust,
  depth: number,
  missing: 'is a fault' | 'may be missing' = 'is a fault',
): string | undefined {
  if (!program.startsWith('/')) {
    return `${file} runs ${program}: write its whole path in the first line`
  }
  const walked = walkTo(program, trust)
  if ('fault' in walked) {
    return `${file} runs ${program}, but ${walked.fault}: name a program of root in its first line`
  }
  if ('missing' in walked) {
    if (missing === 'may be missing') return undefined
    return `${file} needs ${program}, which does not exist: correct its first line`
  }
  const isScript = readFirstLine(walked.real).startsWith('#!')
  return isScript ? interpreterFault(walked.real, trust, depth + 1) : undefined
}

/** What is wrong with the command of `env`: words such as `-S`, `LANG=C`, `python3`, `-u`. */
function commandFault(
  file: string,
  words: readonly string[],
  trust: Trust,
  depth: number,
): string | undefined {
  const own = words.filter((word) => word !== '-S')
  const command = own.find((word) => !/^\w+=/.test(word)) ?? ''
  const before = own.slice(0, own.indexOf(command))
  if (!/^[\w./+-]+$/.test(command) || command.startsWith('-') || hasPath(before)) {
    return `${file} runs env with more than a name: name the program itself in the first line`
  }
  if (command.includes('/')) return programFault(file, command, trust, depth)
  for (const folder of trust.path.split(':')) {
    const program = join(folder, command)
    const walked = walkTo(program, trust)
    // whoever may write to a folder could put a program in front of the one that is meant
    if (!('missing' in walked)) return programFault(file, program, trust, depth)
  }
  return `${file} needs ${command}, which is in no folder of PATH: correct its first line`
}

function hasPath(assignments: readonly string[]): boolean {
  return assignments.some((one) => one.startsWith('PATH='))
}

/** `real`: the file itself, behind all links. `missing`: the first place that does not exist. */
type Walked = { real: string } | { missing: string } | { fault: string }

/** Goes to a program as Linux does, and looks at each folder and link on the way. */
function walkTo(path: string, { users }: Trust): Walked {
  const ahead = path.split('/')
  let links = 0
  /** Has no link in it, so `..` leads to the folder above. */
  let place = '/'
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    const next = join(place, name)
    const stats = lstatSync(next, { throwIfNoEntry: false })
    if (stats === undefined) {
      return isOpen(lstatSync(place)) ? { fault: `anybody may create ${next}` } : { missing: next }
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

function placeFault(place: string, stats: Stats, users: readonly number[]): string | undefined {
  if (!users.includes(stats.uid)) return `${place} belongs to user ${stats.uid}`
  // nobody writes to a link; in a sticky folder, such as /tmp, nobody can replace what belongs to another
  const isGuarded = stats.isSymbolicLink() || (stats.isDirectory() && (stats.mode & sticky) !== 0)
  return isOpen(stats) && !isGuarded ? `anybody may write to ${place}` : undefined
}

function isOpen({ mode }: Stats): boolean {
  return (mode & anybodyMayWrite) !== 0
}

/** Enough for the first line: Linux reads 256 bytes of it. */
function readFirstLine(file: string): string {
  const start = Buffer.alloc(256)
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    return start.toString('latin1', 0, readSync(descriptor, start))
  } catch {
    // a compiled program need not be readable
    return ''
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
