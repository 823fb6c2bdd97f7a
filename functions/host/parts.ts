// The parts of a relay that are the same on every host.
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { unreadExceptions } from '../../shared/addresses.ts'
import type { Log } from '../../shared/log.ts'
import type { Hmac } from '../../shared/signature.ts'
import { createAzureApis } from '../azure/apis.ts'
import { createTokens } from '../azure/tokens.ts'
import { azureSchema } from '../config/azure.ts'
import type { createEntra } from '../identity/entra.ts'
import type { Identity } from '../identity/identity.ts'
import { createPresses } from '../notify/all-presses.ts'
import { notifiers } from '../notify/registry.ts'
import { ClockWatch } from '../use-cases/clock-watch.ts'
import { createFrequentLog } from '../use-cases/frequent-log.ts'
import type { Relay } from '../use-cases/relay.ts'
import type { Common } from './settings.ts'
import { readSmallFile } from './small-file.ts'

/** Retries of one channel are logged at most this often: hundreds of messages may wait for a dead channel. */
const retryLogMs = 60_000

type EntraOptions = Parameters<typeof createEntra>[0]
type Fetch = EntraOptions['fetch']

/** `fetchAzure` reads the keys of Entra, and what Azure says. It has no guard: only the owner chooses the address. */
export function commonParts(
  { config, linkKeys, adminKey, hostIdentity, proxy }: Common,
  log: Log,
  // on Cloudflare, `fetch` must be called as a function of its own
  fetchAzure: Fetch = (url, init) => fetch(url, init),
) {
  for (const entry of unreadExceptions(proxy?.except ?? ''))
    log.warn('proxy_entry_ignored', { entry })
  const identity = createLater({ fetch: fetchAzure, now: Date.now, log })
  return {
    config,
    log,
    credentials: { linkKeys, adminKey, hmac: nodeHmac, identity },
    presses: createPresses(nodeHmac),
    outside: openAzure(config, hostIdentity, fetchAzure),
    clockWatch: new ClockWatch(log, Date.now),
    now: Date.now,
    random: Math.random,
    wait: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
  }
}

/** Loads the library with the first token: a relay whose beacons have keys starts without it. */
function createLater(options: EntraOptions): Identity {
  let loaded: Promise<Identity> | undefined
  const load = async () => (await import('../identity/entra.ts')).createEntra(options)
  return {
    async verify(token, issuer) {
      loaded ??= load()
      return (await loaded).verify(token, issuer)
    },
  }
}

export function openSending(
  log: Log,
  sends: Pick<Relay['sending'], 'send' | 'sendForBound'>,
): Relay['sending'] {
  const retryLog = createFrequentLog({ now: Date.now, log }, retryLogMs)
  return { ...sends, notifiers, retryLog, removedChannels: [] }
}

function openAzure(
  { azure }: Common['config'],
  host: Common['hostIdentity'],
  fetch: Fetch,
): Relay['outside'] {
  const access = azure ?? azureSchema.parse({})
  const readText = readSmallFile
  const tokens = createTokens({ access, host, fetch, readText, now: Date.now })
  if (access.subscriptions.length === 0) return { tokens }
  const options = { access, tokens, fetch, now: Date.now }
  return { tokens, azure: createAzureApis(options) }
}

const keys = new WeakMap<Uint8Array, KeyObject>()

/**
 * HMAC-SHA256 by Node's own library: it takes a tenth of the time of WebCrypto, which leaves the
 * thread for each call. Creating a key costs more than using it, so keys are cached.
 */
export const nodeHmac: Hmac = (bytes, text) => {
  const key = keys.get(bytes) ?? createSecretKey(bytes)
  keys.set(bytes, key)
  return createHmac('sha256', key).update(text).digest()
}
