// The output of a hook: complete lines for the log up to a limit, and the last one for the report.
import type { Readable } from 'node:stream'
import { cut } from '../../shared/document.ts'
import { maskTokens } from '../../shared/log.ts'
import { visible } from '../../shared/presentable.ts'

/** Of one run. Later output is read and dropped, so that the hook never waits. */
export const maxOutputChars = 64 * 1024
const maxLineChars = 1_000

export interface Output {
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
