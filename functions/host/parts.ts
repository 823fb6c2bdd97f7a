// The parts of a relay that are the same on every host.
import type { Log } from '../../shared/log.ts'
import { createEntra } from '../identity/entra.ts'
import { createSlackPresses } from '../notify/slack/presses.ts'
import { nodeHmac } from './hmac.ts'
import type { Common } from './settings.ts'

export function commonParts({ config, linkKeys, adminKey }: Common, log: Log) {
  return {
    config,
    linkKeys,
    adminKey,
    log,
    slackPresses: createSlackPresses(nodeHmac),
    hmac: nodeHmac,
    // Without the guard of channels: only the owner chooses the address of the keys. On Cloudflare,
    // `fetch` must be called as a function of its own.
    identity: createEntra({ fetch: (url, init) => fetch(url, init), now: Date.now, log }),
    now: Date.now,
    random: Math.random,
  }
}
