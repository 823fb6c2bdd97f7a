// Writes a file that is whole or not there: under another name in the same folder first, and under
// its own name once all of it is on disk.
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { open, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { messageOf } from '../../shared/errors.ts'
import { wrong } from './command.ts'

/** The file has names of VMs and people. */
const ownerOnly = 0o600

/** `check` reads the file before it gets its name, and throws if it is not whole. Returns the bytes. */
export async function writeWhole(
  path: string,
  pieces: AsyncIterable<Uint8Array | string>,
  check: (part: string, bytes: number) => void = () => {},
): Promise<number> {
  const folder = await stat(dirname(path)).catch(() => undefined)
  if (!folder?.isDirectory()) throw wrong(`there is no folder "${dirname(path)}"; make it first`)
  const part = `${path}.${randomUUID()}.part`
  const remove = () => rmSync(part, { force: true })
  const end = () => process.exit(1)
  const file = await open(part, 'wx', ownerOnly).catch((error) => {
    throw wrong(`"${part}" cannot be written: ${messageOf(error)}`)
  })
  // also if the user ends the command
  process.once('exit', remove)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, end)
  try {
    let bytes = 0
    try {
      for await (const piece of pieces) {
        const bytesOf = asBytes(piece)
        // unlike `write`, this fails if a full disk takes only a part
        await file.appendFile(bytesOf)
        bytes += bytesOf.length
      }
      await file.sync()
    } finally {
      await file.close()
    }
    check(part, bytes)
    await rename(part, path)
    return bytes
  } finally {
    remove()
  }
}

function asBytes(piece: Uint8Array | string): Uint8Array {
  return typeof piece === 'string' ? new TextEncoder().encode(piece) : piece
}
