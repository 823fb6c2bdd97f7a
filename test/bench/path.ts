// How much code one step of the relay executes: files and functions of the product, by V8's coverage. It
// says how much a reader must know to follow that step. A step that ran before warms up nothing here.
import { Session } from 'node:inspector/promises'
import { createWorld, event, FakeBeacon } from '../support/world.ts'
import type { Figure } from './figures.ts'

/** Of the repository, as in the addresses of modules. */
const product = /\/(?:functions|shared)\/[^?]+\.ts/

export async function path(): Promise<Figure[]> {
  const world = await createWorld()
  const beacon = new FakeBeacon(world, 'web_0')
  await beacon.sees([])
  const report = await executed(() => beacon.sees([event()]))
  const messages = await executed(() => world.drain())
  return [
    ...figuresOf('report with a new event', report),
    ...figuresOf('its messages to four channels', messages),
  ]
}

interface Executed {
  files: number
  functions: number
}

async function executed(step: () => Promise<unknown>): Promise<Executed> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await step()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  const counts = result
    .filter(({ url }) => product.test(url))
    .map(({ functions }) => functions.filter(({ ranges }) => ranges[0]!.count > 0).length)
    .filter((count) => count > 0)
  return { files: counts.length, functions: counts.reduce((sum, count) => sum + count, 0) }
}

function figuresOf(name: string, { files, functions }: Executed): Figure[] {
  return [
    { name: `${name}: files`, value: files, unit: '' },
    { name: `${name}: functions`, value: functions, unit: '' },
  ]
}
