// The relay as the target of a storm: signed reports as beacons build them, and one webhook channel.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { ScheduledEvent } from '../../../shared/document.ts'
import { fleetHeader, type Report, reportPath } from '../../../shared/report.ts'
import { sign } from '../../../shared/signature.ts'
import type { HostName } from '../../support/relay-hosts.ts'
import { fleetName, startStage } from '../../support/stage.ts'
import { childNamed } from '../usage.ts'
import { postBytes } from './load.ts'
import { type Change, changes, type Prepare } from './plan.ts'
import { startStormSink } from './sink.ts'
import { type Target, tieToThisProcess } from './target.ts'

const noticeMs = 15 * 60_000
/** Between a poll and its report, and between two polls. */
const ageMs = 10
const pollMs = 1_000

export async function startRelayTarget(
  host: HostName = 'node',
  environment: Record<string, string> = {},
): Promise<Target> {
  const sink = await startStormSink(({ subject, type }) => ({
    eventId: subject,
    moment: type.replace('foghorn.event.', ''),
  }))
  const channels = { system: { kind: 'webhook', url: sink.url, secret: 'env:HOOK_SECRET' } }
  const routes = [{ match: {}, channels: ['system'] }]
  const stage = await startStage({ vms: [['web_0']], host, config: () => ({ channels, routes }) })
  let untie = () => {}
  const stop = async () => {
    await stage.stop()
    untie()
    await sink.stop()
  }
  try {
    const { pid } = await stage.startRelay({ environment })
    untie = tieToThisProcess(pid, stage.directory)
    const port = Number(new URL(stage.relayUrl).port)
    return {
      pid: host === 'cloudflare' ? childNamed(pid, 'workerd') : pid,
      port,
      sink,
      folder: join(stage.directory, 'relay'),
      prepare: preparation(port, stage.secrets.fleetKey),
      first: 'scheduled',
      moments: ['scheduled', 'started', 'completed'],
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Signs beforehand: the signature is the beacon's cost. */
export function preparation(port: number, fleetKey: string, fleet = fleetName): Prepare {
  const notBeforeAt = Date.now() + noticeMs
  return async (eventId, event, member, change) => {
    // each event has a tenant of its own, and its first member is the VM that is hit
    const boot = `${eventId}/${member}`
    const seen: ScheduledEvent = {
      eventId,
      eventType: 'Reboot',
      status: change === 'scheduled' ? 'Scheduled' : 'Started',
      resources: [`web${event}_0`],
      ...(change === 'scheduled' ? { notBeforeAt } : {}),
      description: 'Virtual machine is going to be restarted as requested by authorized user.',
      source: 'Platform',
      durationSeconds: -1,
    }
    const body = JSON.stringify(reportOf(boot, `web${event}_${member}`, seen, change))
    const signature = await sign([fleetKey], randomUUID(), Date.now(), body)
    return postBytes(port, reportPath, { ...signature, [fleetHeader]: fleet }, body)
  }
}

function reportOf(boot: string, name: string, event: ScheduledEvent, change: Change): Report {
  const kinds = { scheduled: 'appeared', started: 'changed', gone: 'gone' } as const
  const gone = change === 'gone'
  return {
    version: 1,
    vm: {
      name,
      vmId: boot,
      resourceGroup: 'rg-web',
      subscriptionId: '6f1f2b9a-53a5-4d57-9d33-1f9d1f0c7f11',
      scaleSet: name.slice(0, name.indexOf('_')),
      placementGroup: '',
      location: 'westeurope',
      zone: '1',
      tags: { role: 'web', stage: 'prod' },
    },
    beacon: { version: 'bench', bootId: boot, counter: 1 + changes.indexOf(change), uptimeMs: 1e6 },
    document: {
      ageMs,
      incarnation: 1,
      apiVersion: '2020-07-01',
      unreadable: 0,
      hidden: [],
      events: gone ? [] : [event],
    },
    changes: [
      {
        kind: kinds[change],
        ageMs,
        ...(gone ? { lastSeenAgeMs: ageMs + pollMs } : {}),
        firstPoll: false,
        event,
      },
    ],
    starts: [],
  }
}
