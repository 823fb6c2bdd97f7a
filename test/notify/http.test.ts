// Kind `http`: what a template becomes, and what is wrong with one. The contract has the rest.
import { describe, expect, test } from 'vitest'
import { presets } from '../../functions/notify/http/presets.ts'
import type { Send } from '../../functions/notify/notifier.ts'
import { type Channel, channelSchema } from '../../functions/notify/registry.ts'
import { mistakesOf, withValue } from '../support/config.ts'
import { notification } from '../support/records.ts'
import { eventId } from '../support/world.ts'
import { type Json, notifierFor } from './kinds.ts'
import { about, outgoing } from './outgoing.ts'
import { httpChannel, httpNames } from './presets.ts'
import { scenes } from './scenes.ts'

const url = 'https://hook.example/in?a=1'

/** The requests of one message, and its outcome. */
async function sendBy(
  channel: Channel,
  what = outgoing(),
  answer = () => new Response('ok', { status: 202 }),
) {
  const requests: { url: string; json: Json }[] = []
  const send: Send = async (to, { body }) => {
    requests.push({ url: to, json: JSON.parse(body!) })
    return answer()
  }
  return { result: await notifierFor(channel).notify(what, channel as never, send), requests }
}

/** The body of a template, filled in. */
async function filled(body: object, more: object = {}, what = outgoing()): Promise<Json> {
  const { requests } = await sendBy(channelSchema.parse({ kind: 'http', url, body, ...more }), what)
  return requests[0]!.json
}

describe('a template', () => {
  test('keeps its form, whatever the names are', async () => {
    const name = '"}],"x":{{page}}\\ {{title}}\u2028'
    const body = { a: ['{{vms}}', 1, true, null], b: { vm: 'VM {{vms}}' } }
    const shown = await filled(body, {}, about({ resources: [name] }))
    const plain = '"}],"x":{{page}}\\ {{title}} '
    expect(shown).toEqual({ a: [plain.trim(), 1, true, null], b: { vm: `VM ${plain}`.trim() } })
  })

  test('leaves out what is empty, and writes the words of the service', async () => {
    const severities = { critical: 1, error: 2, warning: 'W', info: 'I' }
    const body = { at: '{{deadline}}', ended: '{{event.endedAt}}', level: '{{severity}}' }
    const shown = await filled(body, { severities }, about({ eventType: 'Reboot' }))
    expect(shown).toEqual({ at: '2026-11-21T12:15:00.000Z', level: 2 })
  })

  test('cuts names and sentences to the limit of their field, and never the link', async () => {
    const body = { text: ['{{lines}} {{facts}} {{page}}'] }
    const what = about({ description: 'long '.repeat(400) })
    const { text } = await filled(body, { limits: { text: 600 } }, what)
    expect(text[0].length).toBeLessThanOrEqual(600)
    expect(text[0]).toMatch(/… https:\/\/foghorn\.example\/approve\/token$/)
  })

  test('adds its query to the address, and replaces the marks of the service', async () => {
    const more = { query: { thread: '{{event.eventId}}&' }, replace: { '<': '‹' } }
    const channel = channelSchema.parse({ kind: 'http', url, body: { t: '{{vms}}' }, ...more })
    const { requests } = await sendBy(channel, about({ resources: ['<b>'] }))
    const { url: to, json } = requests[0]!
    expect(to).toMatch(/^https:\/\/hook\.example\/in\?a=1&thread=[0-9a-f-]{36}%26$/)
    expect(json).toEqual({ t: '‹b>' })
  })
})

describe("the readers' own time", () => {
  const unix = Date.parse('2026-11-21T12:15:00Z') / 1_000
  const local = { body: { t: '{{lines}}\n\n{{facts}}\n{{local}}\n\n{{links}}' } }
  const shown = async (more: object, what = outgoing()) => {
    const { t } = await filled(local.body, more, what)
    return /For you: (.*)/.exec(t)?.[1]
  }

  test('as the service shows it, or in the time zone of the channel', async () => {
    expect(await shown({ time: '<t:{{unix}}:f>' })).toBe(`<t:${unix}:f>`)
    expect(await shown({ timeZone: 'America/New_York' })).toBe('Sat 07:15 in America/New_York')
    expect(await shown({})).toBe(undefined)
  })

  test('not of a list, and what is empty leaves no gap', async () => {
    const several = outgoing({ also: [about({})] })
    expect(await shown({ timeZone: 'UTC' }, several)).toBe(undefined)
    const { t } = await filled(local.body)
    expect(t).not.toContain('\n\n\n')
  })

  test('Discord shows it by itself', async () => {
    const { requests } = await sendBy(httpChannel('discord'))
    const [{ description }] = requests[0]!.json.embeds
    expect(description).toContain(`For you: <t:${unix}:f>, <t:${unix}:R>`)
  })
})

test('of several events, what a template says of one is that of the most urgent', async () => {
  const both = { ...scenes.completed!, also: [scenes.scheduled!] }
  const { requests } = await sendBy(httpChannel('pushover'), both)
  const { title, priority, message } = requests[0]!.json
  expect(title).toMatch(/Reboot of .*, and 1 more$/)
  expect(priority).toBe(1)
  expect(message.indexOf('Reboot')).toBeLessThan(message.indexOf('Completed'))
})

const inMessages = httpNames.filter((name) => httpChannel(name).kind === 'http')

test.each(inMessages)('%s: a message names each of ten events', async (name) => {
  const names = Array.from({ length: 10 }, (_, i) => `db${i + 10}`)
  const [first, ...also] = names.map((vm) => about({ resources: ['web-frontend-north', vm] }))
  const { requests } = await sendBy(httpChannel(name), { ...first!, also })
  const text = JSON.stringify(requests[0]!.json)
  expect(names.filter((vm) => !text.includes(vm))).toEqual([])
})

test('a link that does not fit its field gives way to the next, and the button says which', async () => {
  const of = async (listUrl: string, pageUrl: string) => {
    const both = { ...about({}), listUrl, pageUrl, also: [about({ resources: ['b'] })] }
    const { requests } = await sendBy(httpChannel('pushover'), both)
    const { url: link, url_title: label } = requests[0]!.json
    return [link.length, label]
  }
  const long = (length: number) => 'https://foghorn.example/'.padEnd(length, 'x')
  expect(await of(long(512), long(99))).toEqual([512, 'Open all to decide'])
  expect(await of(long(513), long(99))).toEqual([99, 'Open to decide'])
  expect(await of(long(513), long(513))).toEqual([
    'https://foghorn.example'.length,
    'Open to decide',
  ])
})

test('a field of one name gets one, and the description all', async () => {
  const resources = Array.from({ length: 60 }, (_, i) => `web_${i}`)
  const { requests } = await sendBy(httpChannel('servicenow'), about({ resources }))
  const { node, description } = requests[0]!.json.records[0]
  expect(node).toBe('web_0')
  expect(resources.filter((vm) => !description.includes(vm))).toEqual([])
})

test('limits count bytes, and split no character', async () => {
  const what = about({ resources: ['ü🎉'.repeat(9)] })
  const { t } = await filled({ t: '{{vms}}' }, { limits: { t: 26 } }, what)
  expect(t).toBe('ü🎉ü🎉ü🎉ü…')
  expect(Buffer.byteLength(t)).toBeLessThanOrEqual(26)
})

test('an owner can replace what a preset writes, also a header', async () => {
  const headers = { Authorization: 'Bearer other' }
  const channel = { kind: 'http', preset: 'incident-io', settings: { source: '1' }, headers }
  expect(channelSchema.parse(channel)).toMatchObject({ headers: { authorization: 'Bearer other' } })
})

test('the runbook is a line of its own, with its whole address', async () => {
  const runbook = 'https://wiki.example/reboots'
  const what = outgoing()
  const { links } = await filled(
    { links: '{{links}}' },
    {},
    {
      ...what,
      message: { ...what.message, links: [{ label: 'Runbook', url: runbook }] },
    },
  )
  expect(links).toBe(`Runbook: ${runbook}`)
})

test.each([
  ['{"parameters":{"retry_after":7}}', 'telegram' as const, 7_000],
  ['{"message":"limited","retry_after":1.5}', 'discord' as const, 1_500],
  ['{"retry_after":"soon"}', 'discord' as const, undefined],
])('429 with %s from %s is a wait', async (text, preset, waitMs) => {
  const answer = () => new Response(text, { status: 429 })
  const { result } = await sendBy(httpChannel(preset), outgoing(), answer)
  expect(result).toMatchObject({ outcome: 'retry' })
  expect('retryAfterMs' in result ? result.retryAfterMs : undefined).toBe(waitMs)
})

describe('an incident', () => {
  test('whose path would lead elsewhere is refused, and the channel is not broken', async () => {
    const resolve = { path: '/{{vms}}', body: { key: '{{key}}' } }
    const channel = channelSchema.parse({ kind: 'http', url, body: { key: '{{key}}' }, resolve })
    const ended = { moment: 'completed' as const }
    const { result, requests } = await sendBy(channel, about({ resources: ['..'] }, ended))
    expect(result).toEqual({ outcome: 'refused', note: expect.stringContaining('may be empty') })
    expect(requests.map((one) => one.url)).toEqual([])
  })

  test.each(['/{{vms}}/', '/'])('a path that ends with a slash: %s', async (path) => {
    const resolve = { path, body: { key: '{{key}}' } }
    const channel = channelSchema.parse({ kind: 'http', url, body: { key: '{{key}}' }, resolve })
    const ended = { moment: 'completed' as const }
    const { requests } = await sendBy(channel, about({ resources: ['a'] }, ended))
    expect(requests.map((one) => one.url)).toEqual([
      url.replace('?', `${path.replace('{{vms}}', 'a')}?`),
    ])
  })

  const heard = { mayHaveHeard: [notification()] }

  test('is acknowledged and resolved by its key, where the service can', async () => {
    const key = `foghorn:prod:${eventId}:1`
    const paths = []
    for (const moment of ['scheduled', 'approved', 'completed'] as const) {
      const { requests } = await sendBy(httpChannel('jsm'), outgoing(heard, { moment }))
      paths.push(requests.map(({ url: to }) => new URL(to).pathname.split('/v2/alerts')[1]))
    }
    const inPath = encodeURIComponent(key)
    expect(paths).toEqual([[''], [`/${inPath}/acknowledge`], [`/${inPath}/close`]])
  })

  test('stays as it is after a decision, where the service has no acknowledgement', async () => {
    const { requests, result } = await sendBy(
      httpChannel('grafana'),
      outgoing(heard, { moment: 'approved' }),
    )
    expect([requests, result.outcome]).toEqual([[], 'superseded'])
  })
})

describe('a mistake', () => {
  const said = (channel: object) =>
    mistakesOf(JSON.stringify(withValue('channels.hook', channel)), { HOOK_KEY: 'hunter2' })
  const http = { kind: 'http', url, body: {} }

  test.each<[object, string]>([
    [{ ...http, time: 'at {{unx}}' }, 'channels.hook.time: write a text that contains {{unix}}'],
    [
      { ...http, timeZone: '+01:00' },
      'channels.hook.timeZone: write the name of a time zone, such as "Europe/Berlin"',
    ],
    [{ kind: 'http' }, 'channels.hook.preset: missing; name a preset, or write "url" and "body"'],
    [{ kind: 'http', body: {} }, 'channels.hook.url: missing; write an absolute https://'],
    [{ kind: 'http', url }, 'channels.hook.body: missing; write the JSON that the service expects'],
    [
      { ...http, body: { a: ['x', '{{titel}}'] } },
      'channels.hook.body.a[1]: there is no placeholder {{titel}}; write one of "title"',
    ],
    [{ ...http, body: { a: '{{titel}}' } }, 'did you mean "title"?'],
    [{ ...http, body: { a: '{{event.tags}}' } }, 'there is no placeholder {{event.tags}}'],
    [
      { ...http, headers: { 'X-Key': '{{title}}' } },
      'channels.hook.headers.X-Key: {{title}} is not possible here; write {{settings.NAME}}',
    ],
    [
      { ...http, body: { a: '{{settings.key}}' } },
      'channels.hook.settings: "key" is missing; the template has {{settings.key}}',
    ],
    [
      { kind: 'http', preset: 'jsm' },
      'channels.hook.settings: "key" is missing; write the API key of an integration of type API',
    ],
    [
      { kind: 'http', preset: 'jsm', settings: { key: 'x', kee: 'y' } },
      'channels.hook.settings.kee: the template does not use this setting; it uses "key"; did you mean "key"?',
    ],
    [{ kind: 'http', preset: 'jms' }, 'channels.hook.preset: write one of'],
    [{ kind: 'http', preset: 'jms' }, 'did you mean "jsm"?'],
    [
      { ...http, body: { text: 'x' }, limits: { tekst: 5 } },
      'channels.hook.limits.tekst: the body has no such field; its fields are "text"',
    ],
    [
      { ...http, acknowledge: { body: {} } },
      'channels.hook.acknowledge: "acknowledge" needs "resolve"',
    ],
    [
      { ...http, severities: { critical: 1 } },
      'channels.hook.severities.error: write the word of the service, a text or a number',
    ],
    [{ ...http, replace: { ab: '' } }, 'channels.hook.replace.ab: write one character'],
    [{ ...http, settings: { chat: -5 } }, 'channels.hook.settings.chat: write text in quotes'],
    [
      { ...http, resolve: { body: {} } },
      'channels.hook.resolve: no text has {{key}}, by which the service joins',
    ],
    [
      { ...http, body: { t: '{{page}}' }, limits: { t: 99 } },
      'channels.hook.limits.t: the link is in this field, and is left out if it does not fit; write at least 512',
    ],
    [{ ...http, headers: { 'X-Key': 'a\nb' } }, 'write printable ASCII characters'],
    [
      { kind: 'http', preset: 'jsm', settings: { key: 'x\n' } },
      'channels.hook.settings.key: write printable ASCII characters',
    ],
    [{ ...http, body: { '{{title}}': 1 } }, 'a placeholder belongs in a value, not in a key'],
    [
      { ...http, resolve: { path: '/close?x=1', body: { key: '{{key}}' } } },
      'channels.hook.resolve.path: write a path that begins with "/"',
    ],
    [{ ...http, success: [404] }, 'channels.hook.success[0]: write a status from 200 to 299'],
    [
      { ...http, body: { key: 'env:HOOK_KEY' } },
      'channels.hook.body.key: a secret does not belong here; write it under "settings"',
    ],
  ])('%j: %s', (channel, message) => {
    expect(said(channel)).toContain(message)
  })
})

test('every preset names only settings that its template uses', () => {
  for (const [name, preset] of Object.entries(presets)) {
    const text = JSON.stringify({ ...preset, settings: {} })
    for (const setting of Object.keys(preset.settings ?? {})) {
      expect(text, name).toContain(`{{settings.${setting}}}`)
    }
  }
})

/** What a push on a phone shows, by the service's documentation. */
const pushed: Record<string, (body: Json) => string> = {
  alertmanager: ([{ annotations }]) => annotations.summary,
  grafana: ({ title }) => title,
  'incident-io': ({ title }) => title,
  jsm: ({ message }) => message,
  servicenow: ({ records: [{ description }] }) => description.split('\n')[0],
  'splunk-on-call': (body) => body.entity_display_name,
  discord: ({ content }) => content,
  'google-chat': ({ text }) => text,
  mattermost: ({ attachments: [{ fallback }] }) => fallback,
  telegram: ({ text }) => text.split('\n')[0],
  pushover: ({ title }) => title,
  ntfy: ({ title }) => title,
  apprise: ({ title }) => title,
}

test('each preset is among them', () => {
  expect(Object.keys(pushed).sort()).toEqual(Object.keys(presets).sort())
})

test.each(Object.entries(pushed))('a push of %s has the VM and the time', async (preset, read) => {
  const { requests } = await sendBy(httpChannel(preset as never))
  const shown = read(requests[0]!.json).replaceAll('\\', '')
  expect(shown).toContain('web_0')
  expect(shown).toContain('12:15 UTC')
})
