// The relay as one Durable Object: its storage is the store, and its alarm keeps it delivering. All
// fleets share the object, as rates, the health of channels and lists span fleets.
import { DurableObject, type ObjectState } from 'cloudflare:workers'
import { FoghornError, messageOf } from '../../../shared/errors.ts'
import { createLog } from '../../../shared/log.ts'
import { createApp } from '../../app.ts'
import { attemptMs } from '../../core/delivery/attempt.ts'
import { createGuardedFetch } from '../../notify/fetch.ts'
import { openStorage } from '../../store/durable-object.ts'
import { RelayStore } from '../../store/relay-store.ts'
import { noteListening } from '../../store/small-rows.ts'
import { SqlRows } from '../../store/sqlite.ts'
import { Changes } from '../../use-cases/changes.ts'
import { OpenLimits } from '../../use-cases/open-limits.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { createCommitSignal } from '../commit-signal.ts'
import { createHolds } from '../holds.ts'
import { Loop } from '../loop.ts'
import { misconfigured } from '../misconfigured.ts'
import { commonParts, openSending } from '../parts.ts'
import { allSecrets } from '../settings.ts'
import { UnderWay } from '../under-way.ts'
import { createAlarm, cronMs } from './alarm.ts'
import { readSettings } from './settings.ts'

/**
 * Cloudflare lets an object have 6 connections. One is left for keys and replies to presses. Two are
 * for configured channels alone, so that subscriptions that hang delay none of them.
 */
const places = { all: 5, claimed: 1, wide: 3, toStored: 3 }
/** A heartbeat costs little here, and silence is noticed after three. */
const idlePaceMs = 5 * 60_000
/** After a longer gap, the relay may have missed reports, so silent beacons mean nothing. */
const gapMs = 2 * cronMs
/** After a commit, the alarm comes at the latest after this time, should this process end before it sends. */
const backstopMs = 5_000
/** How long an alarm waits for its messages. */
const roundWaitMs = attemptMs + 1_000

type Bindings = Record<string, unknown>
type Parts = Awaited<ReturnType<typeof compose>>

/** What the log writes to. Cloudflare keeps it as Workers Logs. */
export type Write = (line: string) => void

export function relayObject(configText: string, write: Write) {
  return class RelayObject extends DurableObject<Bindings> {
    #parts: Parts | { error: unknown } | undefined

    constructor(ctx: ObjectState, env: Bindings) {
      super(ctx, env)
      void ctx.blockConcurrencyWhile(async () => {
        this.#parts = await attempt(() => compose(ctx.storage, env, configText, write))
        if ('error' in this.#parts) {
          const log = createLog({ write, now: Date.now, level: 'info' })
          log.error('relay_misconfigured', { error: messageOf(this.#parts.error) })
        }
      })
    }

    async fetch(request: Request): Promise<Response> {
      const parts = this.#parts!
      if ('error' in parts) return misconfigured(request)
      if (parts.loop.isLate()) void parts.loop.tick()
      return parts.app.fetch(request)
    }

    /** Never throws: see alarm.ts. */
    async alarm(): Promise<void> {
      if ('loop' in this.#parts!) await runRound(this.#parts)
    }

    /** The cron trigger. */
    async sweep(): Promise<void> {
      const parts = this.#parts!
      if ('error' in parts) return
      const { relay } = parts
      relay.listeningSince = await noteListening(relay.store, relay.now(), gapMs)
      await runRound(parts)
    }
  }
}

async function runRound({ loop }: Parts): Promise<void> {
  void loop.tick()
  await loop.settled(roundWaitMs)
}

/** Any other error ends the object, and the next request starts it again. */
async function attempt<T>(make: () => Promise<T>): Promise<T | { error: unknown }> {
  try {
    return await make()
  } catch (error) {
    if (error instanceof FoghornError) return { error }
    throw error
  }
}

async function compose(
  storage: ObjectState['storage'],
  bindings: Bindings,
  configText: string,
  write: Write,
) {
  const settings = readSettings(bindings, configText)
  const { config, level } = settings
  const log = createLog({ write, now: Date.now, level, secrets: allSecrets(settings) })
  const newId = () => crypto.randomUUID()
  const rows = new SqlRows(openStorage(storage), { nonce: newId() })
  const pause = () => new Promise<void>((resolve) => setTimeout(resolve))
  const gather = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
  const store = new RelayStore({ rows, newId, random: Math.random, gather, pause })
  await store.freeLeases(Date.now())
  const setAlarm = (at: number) => storage.setAlarm(at)
  const alarm = createAlarm({ setAlarm, now: Date.now, log })
  const send = createGuardedFetch(config.allowNetworks)
  const sendForBound = createGuardedFetch(config.tokenNetworks)
  const relay: Relay = {
    ...commonParts(settings, log),
    sending: openSending(log, { send, sendForBound }),
    store,
    listeningSince: await noteListening(store, Date.now(), gapMs),
    host: {
      name: 'cloudflare',
      heartbeats: { paceMs: idlePaceMs },
      holdsConnections: true,
      // its clock stands still while it works, so nobody knows for how long it has worked
      pause,
      readPlaces: 1,
      abilities: {},
      troubles: async () => [],
    },
    work: {
      wake(messages, about) {
        alarm.set(backstopMs)
        loop.hint(messages, about)
      },
      commitSignal: createCommitSignal(),
      holds: createHolds(),
      changes: new Changes(),
      openLimits: new OpenLimits(store),
    },
  }
  const options = { places, maxSleepMs: cronMs, keepsHouse: true }
  const loop: Loop = new Loop(relay, new UnderWay(relay, places), alarm, options)
  log.info('relay_started', { publicUrl: config.publicUrl })
  void loop.tick()
  return { relay, loop, app: createApp(relay) }
}
