// Reads a small file while the relay answers others. The file may be a pipe, or lie on a share that hangs.
import type { FileHandle } from 'node:fs/promises'
import { within } from '../../shared/within.ts'

const maxBytes = 1_048_576
const limitMs = 5_000

/** Files that are being read. All who ask meanwhile share one attempt: a share that hangs keeps one thread. */
const underWay = new Map<string, Promise<{ text: string }>>()

/** Throws an Error that says why, or the error of the system. */
export async function readSmallFile(path: string): Promise<string> {
  const reading = underWay.get(path) ?? readText(path).finally(() => underWay.delete(path))
  underWay.set(path, reading)
  const read = await within(limitMs, reading)
  if (read === 'late') throw new Error(`it was not read within ${limitMs / 1_000} s`)
  return read.text
}

async function readText(path: string): Promise<{ text: string }> {
  // not every host has files
  const { constants, open } = await import('node:fs/promises')
  let file: FileHandle | undefined
  try {
    // a pipe would wait for its writer
    file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const found = await file.stat()
    if (!found.isFile()) throw new Error('it is no file')
    if (found.size > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0)
    return { text: buffer.toString('utf8', 0, bytesRead) }
  } finally {
    await file?.close()
  }
}
