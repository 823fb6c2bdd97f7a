// The relay on Azure Functions: registers the functions and composes the relay. It connects to
// storage with the first invocation. If a setting is wrong, every invocation logs it.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { app } from '@azure/functions'
import { giveAddressesTime } from '../../../shared/addresses.ts'
import { FoghornError, messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { reportPath } from '../../../shared/report.ts'
import { createApp } from '../../app.ts'
import { alignedHeartbeats } from '../../core/event/heartbeat.ts'
import { minuteMs } from '../../core/units.ts'
import { pressRoutes } from '../../http/people/presses.ts'
import type { ForwardProxy, Outbound } from '../../notify/undici.ts'
import { isSecure } from '../../pages/layout.ts'
import { JoinedTable } from '../../store/azure/joined.ts'
import { AzureRows } from '../../store/azure/rows.ts'
import { WatchedTable } from '../../store/azure/watched.ts'
import { RelayStore } from '../../store/relay-store.ts'
import { noteListening } from '../../store/small-rows.ts'
import { Changes } from '../../use-cases/changes.ts'
import type { Job } from '../../use-cases/job.ts'
import { jobs } from '../../use-cases/jobs.ts'
import { OpenLimits } from '../../use-cases/open-limits.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { createCommitSignal } from '../commit-signal.ts'
import { readConfigFile } from '../config-file.ts'
import { createHolds } from '../holds.ts'
import { misconfigured } from '../misconfigured.ts'
import { commonParts, openSending } from '../parts.ts'
import { pause } from '../pause.ts'
import { type Attempt, allSecrets, type Environment, readEnvironment } from '../settings.ts'
import { httpHandler } from './http.ts'
import { createAzureLog } from './log.ts'
import { ReportAnswers } from './report-answers.ts'
import { FleetSize, pressWaitMs, Requests, requestWaitMs, timerMs } from './requests.ts'
import {
  connectionName,
  isWakeMessage,
  openStorage,
  poisonQueueName,
  queueName,
  type WakeQueue,
} from './storage.ts'

/** The host kills the worker 5 s after it asks it to end. Both waits together stay below that. */
const attemptsEndMs = 2_000
/** Time to record aborted attempts, so that their messages need not wait for the lease to end. */
const brokenOffMs = 1_000
/** Once a minute, as `timerMs` says. */
const schedule = '0 * * * * *'
/** After a longer gap, the relay may have missed reports, so silent beacons mean nothing. */
const gapMs = 2 * timerMs
/** One job takes so many in one run of the timer. */
const maxSteps = 10
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** Other paths are not logged: they may contain a token, which can decide an event. */
const plainPaths = /^\/(v1\/(reports|events|deliveries)(\/|$)|healthz$)/
const pressPaths = pressRoutes.map(({ path }) => path)

type Parts = ReturnType<typeof compose>

/** Registers the functions `relay`, `wake` and `sweep`, and a hook for the end of the worker. */
export function register(
  environment: Environment,
  write: (line: string) => void,
  folder: string,
): void {
  giveAddressesTime()
  const parts = attempt(() => compose(environment, write, folder))
  const logs =
    'relay' in parts ? parts.logs : createAzureLog({ write, now: Date.now, level: 'info' })
  /** Runs `work`, or logs what is wrong with the settings and runs `otherwise`. */
  const withRelay = async <T>(
    work: (parts: Parts) => Promise<T>,
    otherwise: () => T,
  ): Promise<T> => {
    if (!('relay' in parts)) {
      logs.log.error('relay_misconfigured', { error: messageOf(parts.error) })
      return otherwise()
    }
    await parts.ready()
    try {
      return await work(parts)
    } finally {
      parts.begin()
    }
  }
  app.setup({ enableHttpStream: true })
  app.http('relay', {
    route: '{*path}',
    authLevel: 'anonymous',
    methods: [...methods],
    handler: logs.during(
      httpHandler(
        (request) =>
          withRelay(
            (own) => answer(own, request),
            () => misconfigured(request),
          ),
        logs.log,
      ),
    ),
  })
  app.storageQueue('wake', {
    queueName,
    connection: connectionName,
    handler: logs.during((message: unknown) =>
      withRelay(
        (own) => wake(own, message),
        () => {},
      ),
    ),
  })
  app.timer('sweep', {
    schedule,
    handler: logs.during(() => withRelay(onTimer, () => {})),
  })
  app.hook.appTerminate(async () => {
    if ('relay' in parts) await parts.stop()
  })
}

function attempt<T>(make: () => T): T | { error: unknown } {
  try {
    return make()
  } catch (error) {
    return { error }
  }
}

/** Composes what the functions share. Throws FoghornError `settings_invalid`. */
function compose(environment: Environment, write: (line: string) => void, folder: string) {
  const own = (tryTo: Attempt) => ({
    storage: tryTo(() => openStorage(environment)),
    resolved: tryTo(() => checkReferences(environment)),
  })
  const settings = readEnvironment(environment, own, () => readConfigFile(environment, folder))
  const { config, level, storage } = settings
  const logs = createAzureLog({ write, now: Date.now, level, secrets: allSecrets(settings) })
  const { queue } = storage
  const wait = (ms: number) => sleep(ms, undefined, { ref: false })
  const watched = new WatchedTable(storage.table, () => performance.now())
  const table = new JoinedTable(watched, wait)
  const rows = new AzureRows({ table, newId: randomUUID, now: Date.now })
  const waits = { wait: sleep, gather: sleep, pause }
  const store = new RelayStore({ rows, newId: randomUUID, random: Math.random, ...waits })
  const outbound = createLater(config.allowNetworks, settings.proxy)
  const forBound = createLater(config.tokenNetworks, settings.proxy)
  const relay: Relay = {
    ...commonParts(settings, logs.log, outbound.fetch),
    sending: openSending(logs.log, { send: outbound.send, sendForBound: forBound.send }),
    store,
    listeningSince: Date.now(),
    host: {
      name: 'azure',
      // until the first count
      heartbeats: alignedHeartbeats(config.publicUrl, 0),
      holdsConnections: false,
      pause,
      // each read and write of the storage gives way
      readPlaces: 4,
      abilities: {},
      troubles: () => listTroubles(logs.log, queue),
    },
    work: {
      wake: (messages, about) => requests.hint(messages, about),
      commitSignal: createCommitSignal(),
      // Azure bills a request that waits
      holds: createHolds({ places: { all: 0, ofFleet: 0 } }),
      changes: new Changes(),
      openLimits: new OpenLimits(store),
    },
  }
  const requests: Requests = new Requests(relay, (delayMs) => queue.set(delayMs))
  const size = new FleetSize(relay)
  const reports = new ReportAnswers({
    storageWaitsMs: () => watched.waitsMs(),
    isSecure: isSecure(config.publicUrl),
    log: logs.log,
    now: Date.now,
  })
  const listen = async () => {
    relay.listeningSince = await noteListening(store, relay.now(), gapMs)
  }
  let opened: Promise<void> | undefined
  let hasBegun = false
  return {
    relay,
    store,
    queue,
    requests,
    reports,
    size,
    logs,
    app: createApp(relay),
    /** Opens the store once. If that fails, the next invocation tries again. */
    ready(): Promise<void> {
      const open = async () => {
        await store.open()
        await Promise.all([listen(), size.follow(Number.POSITIVE_INFINITY)])
        const proxy = settings.proxy && { proxy: new URL(settings.proxy.url).host }
        relay.log.info('relay_started', { publicUrl: config.publicUrl, ...proxy })
      }
      opened ??= open().catch((error) => {
        opened = undefined
        throw error
      })
      return opened
    },
    listen,
    /** An instance that ended may have left work. The first request does not wait for it. */
    begin(): void {
      if (!hasBegun) void requests.run()
      hasBegun = true
    },
    async stop() {
      await requests.stop(attemptsEndMs)
      const closed = Promise.all([outbound.close(), forBound.close()])
      await requests.stop(brokenOffMs)
      await closed
    },
  }
}

async function answer(
  { app, requests, reports, relay, size }: Parts,
  request: Request,
): Promise<Response> {
  size.refresh()
  const { method } = request
  const from = performance.now()
  const { pathname } = new URL(request.url)
  const isPress = pressPaths.includes(pathname)
  const waitMs = isPress ? pressWaitMs : requestWaitMs
  const work = (ready: (response: Response) => void = () => {}) =>
    requests.during(async () => {
      const response = await app.fetch(request)
      ready(response)
      return response
    }, waitMs)
  const response = pathname === reportPath ? await reports.answer(work) : await work()
  const path =
    plainPaths.test(pathname) || pressPaths.includes(pathname) ? pathname : '[not logged]'
  const ms = Math.round(performance.now() - from)
  relay.log.debug('request_answered', { method, path, status: response.status, ms })
  return response
}

async function wake({ relay, requests, listen }: Parts, message: unknown): Promise<void> {
  // a foreign message is harmless: it only causes a look at what is due
  if (!isWakeMessage(message)) relay.log.warn('wake_message_unknown', { queue: queueName })
  relay.log.debug('woken')
  await listen()
  await requests.run()
}

/** Runs all parts even if one fails, and then fails. */
async function onTimer(all: Parts): Promise<void> {
  const { relay, requests, listen, queue, size } = all
  await listen()
  const parts = [
    () => requests.run(),
    () => logTroubles(relay, queue),
    // metrics find counts that are at most a minute old
    () => size.follow(timerMs / 2),
    ...jobs.map((job) => () => runJob(relay, job)),
  ]
  const outcomes: PromiseSettledResult<void>[] = []
  for (const part of parts) outcomes.push(...(await Promise.allSettled([part()])))
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed) throw failed.reason
}

async function logTroubles(relay: Relay, queue: WakeQueue): Promise<void> {
  for (const trouble of await listTroubles(relay.log, queue))
    relay.log.error('host_troubled', { trouble })
}

/** An hourly job runs in the run nearest to the full hour: the timer may run a moment early. */
async function runJob(relay: Relay, job: Job): Promise<void> {
  const minute = Math.floor((relay.now() + timerMs / 2) / minuteMs)
  if ((minute * minuteMs) % job.everyMs.paid > 0) return
  for (let steps = 0; steps < maxSteps; steps++) if ((await job.run(relay)) === 'done') return
}

/** `/healthz` shows these to anybody, so details go to the log only. */
async function listTroubles(log: Log, queue: WakeQueue): Promise<string[]> {
  try {
    const poisoned = await queue.poisoned()
    const remedy = `see the log for the reason, then clear the queue "${poisonQueueName}"`
    return poisoned === 0 ? [] : [`${poisoned} wake-ups failed repeatedly; ${remedy}`]
  } catch (error) {
    log.warn('queue_failed', { error: messageOf(error) })
    return ['the wake-up queue failed, so messages wait for the timer; see the log for the reason']
  }
}

/** Loads the library with the first message: it is large, and reports do not need it. */
function createLater(allowNetworks: string[], proxy: ForwardProxy | undefined): Outbound {
  let loaded: Promise<Outbound> | undefined
  const load = async () => {
    const { createOutbound } = await import('../../notify/undici.ts')
    return createOutbound(allowNetworks, { proxy })
  }
  return {
    async send(url, init) {
      loaded ??= load()
      return (await loaded).send(url, init)
    },
    async fetch(url, init) {
      if (proxy === undefined) return fetch(url, init)
      loaded ??= load()
      return (await loaded).fetch(url, init)
    },
    async close() {
      await (await loaded)?.close()
    },
  }
}

/**
 * Azure passes a reference that it could not resolve as the value: anybody could guess such a key.
 */
function checkReferences(environment: Environment): true {
  const open = Object.entries(environment).filter(([, value]) => value?.startsWith('@Microsoft.'))
  if (open.length === 0) return true
  const names = open.map(([name]) => name).join(', ')
  const remedy = 'see "Azure" in docs/when-things-fail.md'
  throw new FoghornError('reference_unresolved', `Azure did not resolve ${names}; ${remedy}`)
}
