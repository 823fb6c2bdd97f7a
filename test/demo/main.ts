// `npm run demo`: one event from first sight to completion, on this machine. With `-- --auto` the
// demo clicks by itself. `-- --host` chooses where the relay runs. The demo always ends: if nobody
// clicks, Azure starts the event at NotBefore.
import { setTimeout as sleep } from 'node:timers/promises'
import { command, flag, text, wrong } from '../../functions/cli/command.ts'
import { outsideSubscription, startAzureOutside } from '../simulator/azure-outside.ts'
import { decideByForm } from '../support/form.ts'
import { startNodes } from '../support/nodes.ts'
import type { Program } from '../support/process.ts'
import { type HostName, hosts } from '../support/relay-hosts.ts'
import { fleetName, type Stage, startStage } from '../support/stage.ts'
import { faultsOf } from './check.ts'
import { chapterOf, describeEntry, describeReceived } from './narrate.ts'
import { createTerminal } from './terminal.ts'

/** Time to read the lines before the click. */
const autoClickAfterMs = 2_000

const impactSeconds = 4
const nodeVms = ['web_0', 'web_1', 'web_2']
const affected = 'web_1'
/** The node takes pods again some seconds after the event. */
const restoreWithinMs = 20_000
/** As the guide writes it. */
const oneNodeAtATime = {
  ...{ name: 'nodes', match: {}, decide: 'approve', whenReady: true },
  ...{ maxConcurrent: 1, prepareBeforeSeconds: 900 },
}
/** How long the end may take after NotBefore. */
const endWithinMs = 60_000
/** How long the page stays after the end. */
const staysSeconds = 30

/** A person needs time to read the page and to press. */
const noticeFor = { person: 150, auto: 22 }

const terminal = createTerminal(process.stdout)
let noticeSeconds = noticeFor.person
let stage: Stage | undefined
let ending = false
/** What Ctrl+C ends the demo with. */
let interrupted = 130

export const demo = command({
  usage: `[--auto] [--beaconless | --kubernetes] [--host NAME] [--database ADDRESS]`,
  about: `
Plays one maintenance event on this machine: a relay, simulated VMs and four channels.

  --auto        clicks the link by itself
  --beaconless  no beacon is on the VMs: Azure sends the event itself, and the relay tells Azure
  --kubernetes  the VMs are nodes of Kubernetes: they are drained before the event, and uncordoned
  --host        where the relay runs: on node (the default), azure (the bundle for Functions, with
                Azurite as its storage) or cloudflare (workerd)
  --database    the address of an empty PostgreSQL, postgres://…, for the relay on plain Node`,
  options: {
    ...{ auto: flag, beaconless: flag, kubernetes: flag },
    host: { ...text, default: hosts[0] },
    database: text,
  },
  async run({ options }) {
    const { auto = false, beaconless = false, kubernetes = false, host: named, database } = options
    const host = hosts.find((one) => one === named)
    if (host === undefined) throw wrong(`--host is "${named}"; write one of ${hosts.join(', ')}`)
    if (beaconless && kubernetes) throw wrong('--beaconless and --kubernetes exclude each other')
    if (database !== undefined && host !== 'node')
      throw wrong('--database is for the relay on plain Node; leave out --host')
    process.once('SIGINT', () => void end(interrupted))
    if (auto) noticeSeconds = noticeFor.auto
    try {
      await play(auto, host, { isBeaconless: beaconless, isKubernetes: kubernetes, database })
    } catch (error) {
      terminal.fail(`The demo failed: ${(error as Error).message}`)
      await end(1)
    }
  },
})

interface Kind {
  isBeaconless: boolean
  isKubernetes: boolean
  /** Of a PostgreSQL. */
  database: string | undefined
}

async function play(
  isAuto: boolean,
  host: HostName,
  { isBeaconless, isKubernetes, database }: Kind,
): Promise<void> {
  terminal.title('Foghorn: one maintenance event, from first sight to completion')
  const outside = isBeaconless ? await startAzureOutside('web') : undefined
  stage = await startStage({
    ...(outside && {
      onStep: outside.onStep,
      config: (_, simulator) => {
        outside.attach(simulator)
        return {
          azure: outside.azure,
          fleets: { [fleetName]: { azureSubscriptions: outsideSubscription } },
        }
      },
    }),
    ...(isKubernetes && { config: () => ({ policy: [oneNodeAtATime] }) }),
    vms: [nodeVms, ['db_0']],
    host,
    ...(database !== undefined && { database }),
    isBundled: true,
    onEntry: (program, entry) => {
      if (ending) return
      const chapter = chapterOf(program, entry)
      if (chapter !== undefined) terminal.chapter(chapter)
      terminal.say(program, describeEntry(program, entry, host))
      if (entry.event === 'event_gone') terminal.once('relay', 'waits 10 s, to be sure of the end')
    },
  })
  const { simulator, sinks } = stage
  void showReceived(stage)
  await stage.startRelay()
  const nodes = isKubernetes ? await startNodes(nodeVms) : undefined
  let drain: Program | undefined
  if (nodes !== undefined) {
    for (const vm of nodeVms) {
      const one = await nodes.start(stage, vm)
      if (vm === affected) drain = one
    }
  } else if (outside === undefined) await stage.startBeacons()
  else await outside.sendTo(stage.relayUrl, await stage.makeToken(['report']))
  terminal.chapter(
    `1. Azure announces it, and ${outside ? 'Event Grid sends it' : 'every VM sees it'}`,
  )
  terminal.say(
    'azure',
    `schedules a Reboot of ${affected}; its NotBefore is ${noticeSeconds} s away`,
  )
  const eventId = simulator.createEvent({
    EventType: 'Reboot',
    Resources: [affected],
    Description: 'Host maintenance: the virtual machine is going to restart.',
    noticeSeconds,
    impactSeconds,
  })
  const link = await stage.approveLink(eventId)
  const asks = `Decide here within ${noticeSeconds} s, or just watch:`
  const waits = 'A rule approves it once the node is drained. The page:'
  terminal.link(isKubernetes ? waits : isAuto ? 'Link to decide:' : asks, link)
  const click =
    isAuto && !isKubernetes ? setTimeout(() => void decide(link), autoClickAfterMs) : undefined
  await sinks.waitFor(
    ({ kind, body }) => kind === 'webhook' && body.includes('foghorn.event.completed'),
    noticeSeconds * 1_000 + endWithinMs,
  )
  clearTimeout(click)
  const record = await stage.settledEvent(eventId)
  const faults = faultsOf(record, sinks, simulator.startRequests())
  for (const fault of faults) terminal.fail(fault)
  if (faults.length === 0) {
    terminal.good(
      'Each of the four channels was notified once per moment, and no incident is open.',
    )
  }
  const code = faults.length === 0 ? 0 : 1
  if (!isAuto) {
    interrupted = code
    terminal.link(`The page stays for ${staysSeconds} s, or until Ctrl+C:`, link)
    await sleep(staysSeconds * 1_000)
  }
  await drain?.waitFor('hook_succeeded', ({ hook }) => hook === 'restore', restoreWithinMs)
  await nodes?.stop()
  await outside?.stop()
  await end(code)
}

async function decide(link: string): Promise<void> {
  terminal.say('person', 'opens the page and clicks "Restart now"')
  const answer = await decideByForm(fetch, link)
  if (!answer.ok) terminal.fail(`The page answered ${answer.status}`)
}

async function showReceived({ sinks }: Stage): Promise<void> {
  for (let shown = 0; !ending; shown++) {
    await sinks.waitFor(
      () => ending || sinks.received.length > shown,
      2 * (noticeSeconds * 1_000 + endWithinMs),
    )
    const received = sinks.received[shown]
    if (received !== undefined) terminal.say(received.kind, describeReceived(received))
  }
}

async function end(code: number): Promise<void> {
  if (ending) return
  ending = true
  if (code === 1) {
    for (const { name, output } of stage?.programs ?? []) {
      terminal.quote(`last lines of ${name}`, output.split('\n').slice(-12).join('\n'))
    }
  }
  await stage?.stop()
  process.exit(code)
}
