// What owners and monitoring read, from a database with 100,000 events, 100,000 beacons and 1,000,000
// deliveries.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder } from '../../support/folder.ts'
import { adminKey, createWorld, type World } from '../../support/world.ts'
import { type Figure, spread } from '../figures.ts'
import { writeLarge } from './large.ts'

const requests = 50
/** The relay shares an answer for less than this. */
const apartMs = 6_000

export async function consoleReads(): Promise<Figure[]> {
  const folder = newFolder('large')
  try {
    const path = join(folder, 'foghorn.sqlite')
    writeLarge(path)
    const world = await createWorld({ path })
    const figures = spread('metrics', await timesOf(world, '/metrics'))
    world.store.close()
    return figures
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function timesOf({ app, clock }: World, path: string): Promise<number[]> {
  const times: number[] = []
  const headers = { authorization: `Bearer ${adminKey}` }
  for (let i = 0; i < requests; i++) {
    clock.now += apartMs
    const from = performance.now()
    const response = await app.request(path, { headers })
    await response.text()
    if (response.status !== 200) throw new Error(`${path}: ${response.status}`)
    times.push(performance.now() - from)
  }
  return times
}
