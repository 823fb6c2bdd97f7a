// Copies the relay's database while it is in use, as only the process that has it open can. The
// copy is a file for the time of the answer, so that its end and its length are certain.
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readdirSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { DatabaseFolder, NodeAbility } from '../../host/node/ability.ts'
import type { DatabaseCopy } from './ability.ts'

const ownerOnly = 0o600
const copies = /^backup-[0-9a-f-]{36}\.sqlite(-wal|-shm|-journal)?$/

export const backupOnNode: NodeAbility = ({ file }) =>
  file === undefined ? {} : { copyDatabase: createBackup(file) }

/** One copy at a time: each needs as much room as the database. */
export function createBackup({
  copyTo,
  folder,
}: Pick<DatabaseFolder, 'copyTo' | 'folder'>): () => Promise<DatabaseCopy> {
  removeCopies(folder)
  let isBusy = false
  return async () => {
    if (isBusy) return { outcome: 'busy' }
    isBusy = true
    const path = join(folder, `backup-${randomUUID()}.sqlite`)
    const finish = () => {
      rmSync(path, { force: true })
      isBusy = false
    }
    try {
      closeSync(openSync(path, 'wx', ownerOnly))
      await copyTo(path)
      return { outcome: 'made', ...(await openBackup(path, finish)) }
    } catch (error) {
      finish()
      throw error
    }
  }
}

/** Removes the copies that a killed process left behind. */
function removeCopies(folder: string): void {
  for (const name of readdirSync(folder).filter((one) => copies.test(one))) {
    rmSync(join(folder, name), { force: true })
  }
}

async function openBackup(path: string, finish: () => void) {
  const file = await open(path)
  const { size: bytes } = await file.stat()
  // `close` also comes if the reader went away
  const stream = file.createReadStream().once('close', finish)
  return { bytes, body: Readable.toWeb(stream) as ReadableStream<Uint8Array> }
}
