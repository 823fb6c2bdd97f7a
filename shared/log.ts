// One JSON line per entry. It masks known secrets, and tokens by their look: tokens change while
// the process runs, and a text may have a part of one. It escapes control and invisible characters,
// because names come from outside.
import { maskOf, maskTokens } from './mask.ts'
import { escapeUnseen } from './presentable.ts'
import { cut } from './text.ts'

export type Level = 'debug' | 'info' | 'warn' | 'error'
export type Fields = Record<string, string | number | boolean | null | undefined | string[]>

export interface Log {
  debug(event: string, fields?: Fields): void
  info(event: string, fields?: Fields): void
  warn(event: string, fields?: Fields): void
  error(event: string, fields?: Fields): void
}

const ranks: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3 }

/** Characters of a text. What a service or a VM says has no end of its own. */
const maxFieldLength = 4_096

function shortened(fields: Fields): Fields {
  const short = (value: Fields[string]) =>
    typeof value === 'string'
      ? cut(value, maxFieldLength)
      : Array.isArray(value)
        ? value.map((one) => cut(one, maxFieldLength))
        : value
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, short(value)]))
}

/** `write` gets one line without its end, and its level; entries below `level` are dropped. */
export function createLog(options: {
  write: (line: string, level: Level) => void
  now: () => number
  level: Level
  secrets?: readonly string[]
}): Log {
  const mask = maskOf(options.secrets ?? [])
  const at =
    (level: Level) =>
    (event: string, fields: Fields = {}): void => {
      if (ranks[level] < ranks[options.level]) return
      const time = new Date(options.now()).toISOString()
      const entry = { time, level, event, ...shortened(fields) }
      const plain = JSON.stringify(entry)
      // in a line, the escapes in a text are doubled, so each text is masked by itself first
      const clean = (_: string, value: unknown) => (typeof value === 'string' ? mask(value) : value)
      const line = mask(plain.includes('\\') ? JSON.stringify(entry, clean) : plain)
      options.write(escapeUnseen(maskTokens(line)), level)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
