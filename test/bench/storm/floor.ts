// The floor as the target of the same storm: the same signed reports, which it stores and judges not.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Program } from '../../support/process.ts'
import { preparation } from './relay.ts'
import { startStormSink } from './sink.ts'
import { type Target, tieToThisProcess } from './target.ts'

export async function startFloor(): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), 'foghorn-floor-'))
  const fleetKey = `whsec_${randomBytes(32).toString('base64')}`
  const environment = { FLEET_KEY: fleetKey, FLOOR_FILE: join(folder, 'floor.sqlite') }
  const program = new Program('floor', 'test/bench/storm/floor-server.ts', environment)
  const untie = tieToThisProcess(program.pid, folder)
  // it sends no messages
  const sink = await startStormSink(() => ({ eventId: '', moment: '' }))
  const { port } = await program.waitFor('floor_started')
  return {
    pid: program.pid,
    port: Number(port),
    folder,
    sink,
    first: '',
    moments: [],
    prepare: preparation(Number(port), fleetKey),
    async stop() {
      await program.stop()
      untie()
      await sink.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
