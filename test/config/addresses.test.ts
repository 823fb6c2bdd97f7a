// A channel address that can never work is a mistake: the guard refuses it, or the service accepts
// no messages there. The error has the path and the remedy, and never the address.
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../functions/config/config.ts'
import { mistakesOf, withValue } from '../support/config.ts'
import { baseConfig, routingKey } from '../support/world.ts'

const write = 'write an absolute https:// address without spaces'
const incoming = 'write the address of an incoming webhook, https://hooks.slack.com/services/'
const enqueue = 'write https://events.pagerduty.com/v2/enqueue, or for the EU https://events.eu.'
const guarded = 'the address is private or reserved; to allow it, add its network to allowNetworks'
const plain =
  'plain http is allowed only in allowNetworks; use https://, or add its network to allowNetworks'
const page = 'a page for people, which takes no messages; write the address that the workflow'
const port = 'HTTP clients refuse this port, because it belongs to another protocol'
const routing = 'a routing key has 32 characters, letters and digits'

describe('a mistake', () => {
  test.each<[path: string, value: string, said: string]>([
    ['channels.hook.url', 'https://10.1.2.3/hunter2', guarded],
    ['channels.hook.url', 'https://0x7f.1/hunter2', guarded],
    ['channels.hook.url', 'https://[fd00::7]/hunter2', guarded],
    ['channels.hook.url', 'https://localhost/hunter2', guarded],
    ['channels.team.url', 'https://169.254.169.254/hunter2', guarded],
    ['channels.pager.endpoint', 'https://192.168.0.9/hunter2', guarded],
    ['channels.hook.url', 'http://192.168.1.1/hunter2', plain],
    ['channels.hook.url', 'http://hook.example/hunter2', plain],
    ['channels.hook.url', ' https://hook.example/hunter2', write],
    ['channels.hook.url', 'https://hook.example/hunter2\n', write],
    ['channels.hook.url', 'https://hook.example/hun ter2', write],
    ['channels.pager.endpoint', 'https://events.pagerduty.com/v2/ enqueue', write],
    ['channels.hook.url', 'https:\\\\hook.example\\hunter2', write],
    ['channels.hook.url', 'https:hook.example/hunter2', write],
    ['channels.chat.url', 'https://hooks.slack.com/triggers/T0/1/hunter2', incoming],
    ['channels.chat.url', 'https://hooks.slack.com/services/…', incoming],
    ['channels.chat.url', 'https://hooks.slack.com/services/', incoming],
    ['channels.chat.url', 'https://hooks.slack.com/services/T0/B0', incoming],
    ['channels.chat.url', 'https://hooks.slack.com/workflows/T0/1/hunter2', incoming],
    ['channels.chat.url', 'https://contoso.slack.com/archives/C0123456789', incoming],
    ['channels.chat.url', 'https://app.slack.com/client/T0/C0123456789', incoming],
    ['channels.team.url', 'https://teams.microsoft.com/l/channel/19%3aabc/hunter2', page],
    ['channels.team.url', 'https://make.powerautomate.com/environments/hunter2', page],
    ['channels.team.url', 'https://emea.flow.microsoft.com/manage/hunter2', page],
    [
      'channels.team.url',
      'https://flow.example/a?v=1&amp;sig=hunter2',
      '"&amp;" is how the source',
    ],
    ['channels.pager.endpoint', 'https://api.pagerduty.com/v2/enqueue', enqueue],
    ['channels.pager.endpoint', 'https://contoso.pagerduty.com/v2/enqueue', enqueue],
    ['channels.pager.endpoint', 'https://events.pagerduty.com/v2/enqueue?key=hunter2', enqueue],
    ['channels.hook.url', 'https://hook.example:6000/hunter2', port],
    ['channels.team.url', 'https://flow.example:25/hunter2', port],
    ['channels.pager.endpoint', 'https://events.pagerduty.com', enqueue],
    ['channels.pager.endpoint', 'https://events.eu.pagerduty.com/', enqueue],
    ['channels.pager.endpoint', 'https://events.pagerduty.com/generic/2010-04-15/x', enqueue],
    ['channels.pager.endpoint', 'https://events.pagerduty.com/v2/change/enqueue', enqueue],
    ['channels.pager.routingKey', `${routingKey.slice(1)} `, routing],
    ['channels.pager.routingKey', `${routingKey.slice(1)}-`, routing],
    ['channels.pager.routingKey', `"${routingKey.slice(2)}"`, routing],
  ])('%s: %j', (path, value, said) => {
    const message = mistakesOf(JSON.stringify(withValue(path, value)))
    expect(message.startsWith(`${path}: ${said}`)).toBe(true)
    expect(message.split('\n')).toHaveLength(1)
    expect(message).not.toMatch(/hunter|ter2|archives|0123456789/)
  })

  test.each([
    'https://slack.com',
    'https://slack.com/api/chat.postMessage',
    'https://slack-gov.com/api/v2/',
    'https://slack.com/api?token=hunter2',
  ])('as the place of the methods of Slack: %s', (endpoint) => {
    const bot = { kind: 'slack', token: 'xoxb-bot-secret', channel: 'C0123456789', endpoint }
    expect(mistakesOf(JSON.stringify(withValue('channels.chat', bot)))).toBe(
      'channels.chat.endpoint: write https://slack.com/api, or for GovSlack https://slack-gov.com/api, ' +
        "without a method's name",
    )
  })

  test.each([
    ['https://10.1.2.3/x', ['10.2.0.0/16'], guarded],
    ['http://192.168.1.1/x', ['10.0.0.0/8'], plain],
    ['http://8.8.8.8/x', ['10.0.0.0/8'], plain],
  ])('%s with networks %j', (url, allowNetworks, said) => {
    const config = { ...withValue('channels.hook.url', url), allowNetworks }
    expect(mistakesOf(JSON.stringify(config))).toBe(`channels.hook.url: ${said}`)
  })
})

describe('publicUrl', () => {
  const alone = 'a bare "%" (http:// for loopback only)'
  test.each([
    ...['https://f.example/?', 'https://f.example#', 'https://f.example/a/?#'],
    ...['https:\\\\f.example', 'https:f.example', 'https:/f.example', 'https://f.example\\a'],
    ...['https://f.example/%zz', 'https://f.example/%', 'https://f.example/%e'],
  ])('%j is refused', (publicUrl) => {
    const message = mistakesOf(JSON.stringify({ ...baseConfig, publicUrl }))
    expect(message).toBe(
      'publicUrl: write an https:// address without query, fragment, spaces, backslashes or ' +
        `${alone} (found ${JSON.stringify(publicUrl)})`,
    )
  })

  test('is no port that browsers refuse', () => {
    const publicUrl = 'https://f.example:6666'
    const message = mistakesOf(JSON.stringify({ ...baseConfig, publicUrl }))
    expect(message.startsWith(`publicUrl: ${port}; use another port (found`)).toBe(true)
  })

  test.each([
    ['https://f.example//', 'https://f.example'],
    ['HTTPS://F.example/A/../b%20c/', 'https://f.example/b%20c'],
    ['http://127.0.0.1:7071', 'http://127.0.0.1:7071'],
  ])('%j is %j', (publicUrl, read) => {
    expect(readConfig(JSON.stringify({ ...baseConfig, publicUrl }), {}).publicUrl).toBe(read)
  })
})

describe('no mistake', () => {
  test.each<[path: string, value: string, allowNetworks: string[]]>([
    ['channels.hook.url', 'https://10.1.2.3/x', ['10.0.0.0/8']],
    ['channels.hook.url', 'http://10.1.2.3/x', ['10.0.0.0/8']],
    ['channels.hook.url', 'http://localhost:9000/x', ['127.0.0.0/8']],
    // what a name resolves to is known when it is asked for
    ['channels.hook.url', 'http://hook.internal/x', ['10.0.0.0/8']],
    ['channels.hook.url', 'https://hook.internal/x', []],
    ['channels.chat.url', 'https://hooks.slack.com/services/T0/B0/x', []],
    ['channels.chat.url', 'https://hooks.slack-gov.com/services/T0/B0/x', []],
    ['channels.chat.url', 'https://proxy.example/slack', []],
    // own servers that accept Slack's messages
    ['channels.chat.url', 'https://mattermost.example/hooks/x', []],
    ['channels.chat.url', 'https://notdiscord.com/api/webhooks/1/x/slack', []],
    ['channels.team.url', 'https://whatever.microsoft.example/x?sig=y', []],
    ['channels.pager.endpoint', 'https://events.eu.pagerduty.com/v2/enqueue', []],
    ['channels.pager.endpoint', 'https://proxy.example/', []],
    ['channels.chat.endpoint', 'https://slack.com/api/', []],
    ['channels.chat.endpoint', 'https://proxy.example/slack?x=1', []],
    ['channels.hook.url', 'https://hook.example:8443/x?a=1&amp;b=2', []],
    ['channels.pager.routingKey', 'R0ABCDEFGHIJKLMNOPQRSTUVWXYZabcd', []],
  ])('%s: %s', (path, value, allowNetworks) => {
    const config = { ...withValue(path, value), allowNetworks }
    if (path === 'channels.chat.endpoint') {
      config.channels.chat = { kind: 'slack', token: 'xoxb-bot-secret', channel: 'C0123456789' }
      config.channels.chat.endpoint = value
    }
    expect(() => readConfig(JSON.stringify(config), {})).not.toThrow()
  })
})
