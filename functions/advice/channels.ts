// Channels: whether each is told anything, who is told when it fails, and whether people can follow a link.

import { isLoopback } from '../config/checks.ts'
import { addressOf, type Channel, type Config } from '../config.ts'

export function adviseOnChannels(config: Config): string[] {
  const { channels, routes } = config
  const names = Object.keys(channels)
  const told = new Set(routes.flatMap((route) => route.channels))
  const fallbacks = new Set(Object.values(channels).map(({ fallback }) => fallback))
  const advice = names.flatMap((name) => {
    const at = `channels.${name}`
    const channel = channels[name]!
    if (!told.has(name) && !fallbacks.has(name)) {
      return [`${at}: no route names it, and no fallback; name it in a route, or remove it`]
    }
    return [...onFallback(at, name, channel, config), ...onPlainHttp(at, channel)]
  })
  return [...onPublicUrl(config), ...advice]
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

/** What two channels have in common that are one. Never shown: it is their secret. */
function identityOf(channel: Channel): string {
  const address = new URL(addressOf(channel)).href
  if (channel.kind === 'slack_bot') return `${address} ${channel.token} ${channel.channel}`
  return `${address} ${channel.kind === 'pagerduty' ? channel.routingKey : ''}`
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
