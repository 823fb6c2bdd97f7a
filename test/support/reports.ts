// Reports as a beacon signs them, to a relay that runs as a process: for tests that need to know when
// each is sent, and what is answered.
import { randomUUID } from 'node:crypto'
import type { ScheduledEvent } from '../../shared/document.ts'
import { fleetHeader, type Report, reportPath } from '../../shared/report.ts'
import { sign } from '../../shared/signature.ts'
import { fleetName, type Stage } from './stage.ts'
import { event } from './world.ts'

interface Body {
  /** Blanks are added up to so much. */
  bytes?: number
  /** In pieces, without saying before how much it is. */
  streamed?: boolean
}

/** One VM's beacon: each call is its next report, and says that it sees these events and no others. */
export function reporter(stage: Stage, vm: string) {
  const bootId = randomUUID()
  let counter = 0
  return async (
    events: ScheduledEvent[],
    { bytes = 0, streamed }: Body = {},
  ): Promise<Response> => {
    const report = {
      version: 1,
      vm: { name: vm, vmId: `id-of-${vm}` },
      beacon: { version: 'test', bootId, counter: ++counter, uptimeMs: 1e6 },
      document: { ageMs: 0, apiVersion: '2020-07-01', events, unreadable: 0, hidden: [] },
      changes: [],
      starts: [],
    } satisfies Omit<Report, 'vm'> & { vm: Partial<Report['vm']> }
    const text = JSON.stringify(report).padEnd(bytes)
    const headers = await sign([stage.secrets.fleetKey], randomUUID(), Date.now(), text)
    return fetch(`${stage.relayUrl}${reportPath}`, {
      method: 'POST',
      body: streamed ? ReadableStream.from(piecesOf(text)) : text,
      duplex: 'half',
      headers: { ...headers, [fleetHeader]: fleetName },
    } as RequestInit)
  }
}

const pieceLength = 10_000

function* piecesOf(text: string): Generator<Buffer> {
  for (let at = 0; at < text.length; at += pieceLength) {
    yield Buffer.from(text.slice(at, at + pieceLength))
  }
}

/** One that nobody has seen yet, with 15 minutes' notice. */
export function newEvent(eventType = 'Reboot'): ScheduledEvent {
  return event({ eventId: randomUUID(), eventType, notBeforeAt: Date.now() + 15 * 60_000 })
}
