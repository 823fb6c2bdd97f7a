// `fetch` for hosts on Node, with undici. It checks each address at connect: a channel cannot reach
// a private, local or reserved address, unless the configuration allows the network.

import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, fetch } from 'undici'
import { FoghornError } from '../../shared/errors.ts'
import { whyForbidden } from '../core/rules/address.ts'
import type { Send } from './notifier.ts'

const connectionsPerOrigin = 16

export interface Outbound {
  send: Send
  close(): Promise<void>
}

/** `resolve` is the system's resolver. */
export function createOutbound(allowNetworks: string[], resolve: Resolve = lookup): Outbound {
  const judge = addressJudge(allowNetworks)
  const agents = {
    'https:': agentFor(judge, false, resolve),
    'http:': agentFor(judge, true, resolve),
  }
  return {
    async send(url, init) {
      const { protocol, hostname } = new URL(url)
      const plain = protocol === 'http:'
      const literal = hostname.replace(/^\[|\]$/g, '')
      if (isIP(literal) !== 0) judge(literal, plain)
      const dispatcher = agents[plain ? 'http:' : 'https:']
      // A redirect would bypass the check of literal addresses above.
      const guarded = { ...init, redirect: 'manual', dispatcher }
      try {
        // The types of undici's fetch differ from the platform's in name only.
        return (await fetch(url, guarded as never)) as unknown as Response
      } catch (error) {
        throw isBlockedPort(error) ? new FoghornError('port_blocked', blockedPort) : error
      }
    },
    async close() {
      await Promise.all(Object.values(agents).map((agent) => agent.destroy()))
    },
  }
}

const blockedPort =
  'fetch never connects to this port because another protocol uses it; let the channel listen on another port'

/** Blocked by `fetch` (https://fetch.spec.whatwg.org/#port-blocking). undici has no code for it. */
function isBlockedPort(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && cause.message === 'bad port'
}

type Judge = (address: string, plain: boolean) => void

/** Throws FoghornError `address_forbidden`. Only allowed networks can use plain http. */
export function addressJudge(allowNetworks: string[]): Judge {
  return (address, plain) => {
    const why = whyForbidden(address, plain, allowNetworks)
    if (why !== undefined) throw new FoghornError('address_forbidden', why)
  }
}

type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

function agentFor(judge: Judge, plain: boolean, resolve: Resolve): Agent {
  const guarded: LookupFunction = (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, '', 4)
      try {
        for (const { address } of addresses) judge(address, plain)
      } catch (refusal) {
        return done(refusal as NodeJS.ErrnoException, '', 4)
      }
      const first = addresses[0]!
      return options.all ? done(null, addresses) : done(null, first.address, first.family)
    })
  }
  return new Agent({ connections: connectionsPerOrigin, connect: { lookup: guarded } })
}
