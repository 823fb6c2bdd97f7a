// Writes whole lines to standard output and standard error. Its surprise: it does not use the
// streams of `process`. The executable would load their modules, which take 1.5 MB.
import { writeSync } from 'node:fs'

type Stream = 'stdout' | 'stderr'

const descriptors: Record<Stream, number> = { stdout: 1, stderr: 2 }
/** A Windows console needs text in place of bytes, which only the streams write. */
const streaming = new Set<Stream>(process.platform === 'win32' ? ['stdout', 'stderr'] : [])

/** Both get one line without its end. */
export const terminal = {
  out: (line: string) => print('stdout', line),
  error: (line: string) => print('stderr', line),
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
