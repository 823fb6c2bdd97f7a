// Channels: whether each is told anything, and once; who is told when it fails; and whether people can
// follow a link.

import type { Channel, Config } from '../config/config.ts'
import { moments } from '../core/event/event.ts'
import { addressOf } from '../core/rules/address.ts'
import { opensNothing } from '../core/rules/severity.ts'
import { isLoopback } from '../schema/checks.ts'
import { onPlace } from './addresses.ts'
import { list } from './policy.ts'

export function adviseOnChannels(config: Config): string[] {
  const { channels, routes } = config
  const names = Object.keys(channels)
  const told = new Set([...routes.flatMap((route) => route.channels), ...ownersIn(config)])
  const fallbacks = new Set(Object.values(channels).map(({ fallback }) => fallback))
  const advice = names.flatMap((name) => {
    const at = `channels.${name}`
    const channel = channels[name]!
    if (!told.has(name) && !fallbacks.has(name)) {
      return [`${at}: no route names it, and no fallback; name it in a route, or remove it`]
    }
    return [
      ...onFallback(at, name, channel, config),
      ...onPlainHttp(at, channel),
      ...onPlace(at, channel),
      ...onIncidents(at, name, config),
    ]
  })
  return [...onPublicUrl(config), ...advice, ...onTwins(config)]
}

/** Channels that are sent alerts. */
function ownersIn({ owners = [], fleets }: Config): string[] {
  return [...owners, ...Object.values(fleets).flatMap((fleet) => fleet.owners ?? [])]
}

/** Two that routes name, and that are one. */
function onTwins({ channels, routes }: Config): string[] {
  const told = Object.keys(channels).filter((name) =>
    routes.some((route) => route.channels.includes(name)),
  )
  return told.flatMap((name, i) => {
    const same = (other: string) => identityOf(channels[other]!) === identityOf(channels[name]!)
    const twin = told.slice(0, i).find(same)
    if (twin === undefined) return []
    const what = `the same address as "${twin}": what both hear stands there twice, at double rate`
    return [`channels.${name}: ${what}; name "${twin}" in its routes, and remove this one`]
  })
}

/** An incident that is never opened is never acknowledged or resolved either: nobody hears anything. */
function onIncidents(at: string, name: string, config: Config): string[] {
  const { channels, routes } = config
  // an alert opens one
  if (channels[name]?.kind !== 'pagerduty' || ownersIn(config).includes(name)) return []
  const naming = routes.filter((route) => route.channels.includes(name))
  const told = moments.filter((moment) =>
    naming.some((route) => route.moments?.includes(moment) ?? true),
  )
  if (told.length === 0 || !told.every((moment) => opensNothing.includes(moment))) return []
  const what = `routes tell it only of ${list(told)}, which open no incident, so it shows nothing`
  return [`${at}: ${what}; add "scheduled" to their "moments"`]
}

function onFallback(at: string, name: string, channel: Channel, { channels }: Config): string[] {
  const { fallback } = channel
  if (fallback === undefined) {
    const others = Object.keys(channels).filter((other) => other !== name)
    const one = others.find((other) => identityOf(channels[other]!) !== identityOf(channel))
    const remedy = one ? `write "fallback": "${one}"` : 'add a second channel as its "fallback"'
    return [`${at}: it has no fallback, so nobody is told when it refuses a message; ${remedy}`]
  }
  if (identityOf(channels[fallback]!) !== identityOf(channel)) return []
  return [
    `${at}.fallback: "${fallback}" is the same address, and fails with it; name a channel elsewhere`,
  ]
}

/** What says nothing of where messages go, and what the address says already. */
const apart = ['kind', 'fallback', 'secret', 'url', 'endpoint']

/** What two channels have in common that are one. Never shown: it is their secret. */
function identityOf(channel: Channel): string {
  const rest = Object.entries(channel).filter(([key]) => !apart.includes(key))
  return JSON.stringify([new URL(addressOf(channel)).href, rest])
}

function onPlainHttp(at: string, channel: Channel): string[] {
  if (!addressOf(channel).startsWith('http:')) return []
  const key = 'endpoint' in channel ? 'endpoint' : 'url'
  const risk = 'plain http: whoever can read that network reads messages, links and the address'
  return [`${at}.${key}: ${risk}; write https:// where the receiver takes it`]
}

function onPublicUrl({ publicUrl, channels }: Config): string[] {
  const elsewhere = Object.keys(channels).find((name) => !isLoopback(addressOf(channels[name]!)))
  if (!isLoopback(publicUrl) || elsewhere === undefined) return []
  const why = `links in messages to "${elsewhere}" lead each reader to their own machine`
  return [`publicUrl: "${publicUrl}" is this machine alone, so ${why}; write its public https://`]
}
