// Warns about channels: unused or doubled ones, missing fallbacks, and links that people cannot
// open.

import { looksSecret } from '../../shared/presentable.ts'
import type { Channel, Config } from '../config/config.ts'
import { isSink } from '../core/delivery/delivery.ts'
import { moments, opensIncident } from '../core/event/moment.ts'
import { isWithin, readAddress } from '../core/rules/address.ts'
import { isLoopback } from '../schema/checks.ts'
import { onAddress } from './addresses.ts'
import { list } from './policy.ts'

export function adviseOnChannels(config: Config): string[] {
  const { channels, routes } = config
  const names = Object.keys(channels).filter((name) => !isSink(name))
  const notified = new Set([...routes.flatMap((route) => route.channels), ...ownersIn(config)])
  const fallbacks = new Set(Object.values(channels).map(({ fallback }) => fallback))
  const advice = names.flatMap((name) => {
    const at = `channels.${name}`
    const channel = channels[name]!
    if (!notified.has(name) && !fallbacks.has(name)) {
      return [
        `${at}: no route, fallback or list of owners names it; add it to a route, or remove it`,
      ]
    }
    return [
      ...onFallback(at, name, channel, config),
      ...onPlainHttp(at, channel),
      ...onPlainMail(at, channel, config),
      ...onTemplate(at, channel),
      ...onAddress(at, channel),
      ...onIncidents(at, name, config),
    ]
  })
  const onSinks = Object.entries(channels).flatMap(([name, channel]) =>
    isSink(name) ? onPlainHttp(name.replace(':', '.'), channel) : [],
  )
  return [...onPublicUrl(config), ...advice, ...onSinks, ...onTwins(config)]
}

/** Channels that receive alerts. */
function ownersIn({ owners = [], fleets }: Config): string[] {
  return [...owners, ...Object.values(fleets).flatMap((fleet) => fleet.owners ?? [])]
}

/** Warns of two channels of routes that have the same address. */
function onTwins({ channels, routes }: Config): string[] {
  const routed = Object.keys(channels).filter((name) =>
    routes.some((route) => route.channels.includes(name)),
  )
  return routed.flatMap((name, i) => {
    const same = (other: string) =>
      describeIdentity(channels[other]!) === describeIdentity(channels[name]!)
    const twin = routed.slice(0, i).find(same)
    if (twin === undefined) return []
    const what = `"${twin}" has the same address, so messages for both arrive twice`
    return [`channels.${name}: ${what}; write "${twin}" in its routes, and remove this one`]
  })
}

function opensIncidents({ kind }: Channel): boolean {
  return kind === 'pagerduty' || kind === 'http_incidents'
}

/** Services ignore messages about an incident that was never opened. */
function onIncidents(at: string, name: string, config: Config): string[] {
  const { channels, routes } = config
  // an alert opens an incident
  if (!opensIncidents(channels[name]!) || ownersIn(config).includes(name)) return []
  const naming = routes.filter((route) => route.channels.includes(name))
  const sent = moments.filter((moment) =>
    naming.some((route) => route.moments?.includes(moment) ?? true),
  )
  if (sent.length === 0 || sent.some(opensIncident)) return []
  const what = `its routes send only ${list(sent)}, which open no incident, so it shows nothing`
  return [`${at}: ${what}; add "scheduled" to their "moments"`]
}

function onFallback(at: string, name: string, channel: Channel, { channels }: Config): string[] {
  const { fallback } = channel
  if (fallback === undefined) {
    const others = Object.keys(channels).filter((other) => other !== name && !isSink(other))
    const one = others.find(
      (other) => describeIdentity(channels[other]!) !== describeIdentity(channel),
    )
    const remedy = one ? `write "fallback": "${one}"` : 'add a second channel as its "fallback"'
    return [`${at}: it has no fallback, so a message that it rejects reaches nobody; ${remedy}`]
  }
  if (describeIdentity(channels[fallback]!) !== describeIdentity(channel)) return []
  return [
    `${at}.fallback: "${fallback}" has the same address, so both fail together; write another channel`,
  ]
}

/** Keys that do not change where messages go, and the address, which is compared as a URL. */
const notCompared = ['kind', 'fallback', 'secret', 'url', 'endpoint']

/** Equal for two channels that reach the same place. Contains secrets: never show it. */
function describeIdentity(channel: Channel): string {
  const rest = Object.entries(channel).filter(([key]) => !notCompared.includes(key))
  return JSON.stringify([new URL(readAddress(channel)).href, rest])
}

function onPlainHttp(at: string, channel: Channel): string[] {
  if (!readAddress(channel).startsWith('http:')) return []
  const key = 'endpoint' in channel ? 'endpoint' : 'url'
  const risk = 'plain http shows messages, links and the address to everyone on that network'
  return [`${at}.${key}: ${risk}; write https:// if the receiver supports it`]
}

const isAddress = /^[\d.]+$|:/

/** Certain without networks, and for a server that is named by its address. */
function onPlainMail(at: string, channel: Channel, { allowNetworks }: Config): string[] {
  if (channel.kind !== 'mail' || channel.tls !== 'none') return []
  const host = new URL(channel.endpoint).hostname.replace(/^\[(.*)\]$/, '$1')
  if (allowNetworks.length > 0 && (!isAddress.test(host) || isWithin(host, allowNetworks)))
    return []
  const what = `"tls": "none" works only within allowNetworks, and "${host}" is in none of them`
  return [`${at}.tls: ${what}; add its network there, or leave "tls" out`]
}

/** A template of the owner's that cannot lead to a decision, or shows a secret. */
function onTemplate(at: string, channel: Channel): string[] {
  if (channel.kind !== 'http' && channel.kind !== 'http_incidents') return []
  if (channel.preset !== undefined) return []
  const isBlind = !JSON.stringify(channel.body).includes('{{page}}')
  const noPage = `${at}.body: no text has {{page}}, so nobody can decide from the message; add it`
  return [...(isBlind ? [noPage] : []), ...onLiteralSecrets(`${at}.body`, channel.body)]
}

function onLiteralSecrets(at: string, body: unknown): string[] {
  if (typeof body !== 'object' || body === null) return []
  return Object.entries(body).flatMap(([key, one]) => {
    const isNamed = secretKey.test(key) || known.test(String(one))
    const isSecret = typeof one === 'string' && isNamed && looksSecret(one)
    if (!isSecret || one.includes('{{')) return onLiteralSecrets(`${at}.${key}`, one)
    const what = 'this looks like a secret, and "--requests" shows the body'
    return [`${at}.${key}: ${what}; write it in "settings", and {{settings.NAME}} here`]
  })
}

const secretKey = /token|secret|pass|key|auth|credential/i
/** Texts that no other thing begins with. */
const known = /^(xox[a-z]-|whsec_|gh[a-z]_|glpat-|sk-|bearer |basic )/i

const ofExample = 'foghorn.example.com'

function onPublicUrl({ publicUrl, channels }: Config): string[] {
  if (new URL(publicUrl).hostname === ofExample) {
    const what = 'is the address of the example, so no link in a message works'
    return [`publicUrl: "${publicUrl}" ${what}; write the address of your relay`]
  }
  const elsewhere = Object.keys(channels).find(
    (name) => !isSink(name) && !isLoopback(readAddress(channels[name]!)),
  )
  if (!isLoopback(publicUrl) || elsewhere === undefined) return []
  const why = `links in messages to "${elsewhere}" open on each reader's own machine`
  return [`publicUrl: "${publicUrl}" is loopback, so ${why}; write the public https:// address`]
}
