// Services that answer what they should not: redirects, secrets that they were given, endless texts.
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { createAzureApis } from '../../functions/azure/apis.ts'
import { createTokens } from '../../functions/azure/tokens.ts'
import { channelSchema, channelSecrets } from '../../functions/notify/registry.ts'
import { createOutbound } from '../../functions/notify/undici.ts'
import { createLog } from '../../shared/log.ts'
import { maskOf } from '../../shared/mask.ts'
import { channels, notifierFor } from '../notify/kinds.ts'
import { outgoing } from '../notify/outgoing.ts'
import { mistakesOf, withValue } from '../support/config.ts'

const subscription = '1e1e1e1e-0000-4000-8000-000000000001'
const access = {
  subscriptions: [subscription],
  authority: 'https://login.microsoftonline.com',
  resourceManager: 'https://management.azure.com',
}
const app = { tenantId: subscription, clientId: subscription, clientSecret: 'the-client-secret' }
const host = { endpoint: 'http://127.0.0.1:41741/msi/token', header: 'the-identity-header' }
const now = () => 0

function apisAt(answer: (url: string) => Response, more: object = {}) {
  const asked: { url: string; redirect: string | undefined }[] = []
  const fetch = async (url: string, { redirect }: RequestInit) => {
    asked.push({ url, redirect })
    return answer(url)
  }
  const own = { ...access, ...more }
  const tokens = createTokens({ access: own, host, fetch, now, readText: async () => '' })
  return { asked, tokens, ...createAzureApis({ access: own, tokens, fetch, now }) }
}
const tokenOf = (text: string) => Response.json({ access_token: text, expires_in: 3_600 })
const moved = () =>
  new Response(null, { status: 307, headers: { location: 'https://evil.example' } })

test.each([
  ['the secret of the app registration', app],
  ['the header of the host', {}],
])('%s follows no redirect', async (_, own) => {
  const { tokens, asked } = apisAt(moved, own)
  await expect(tokens.read(access.resourceManager)).rejects.toThrow('HTTP 307')
  expect(asked.map(({ redirect }) => redirect)).toEqual(['manual'])
})

test('a mail server that sends lines without end is left', async () => {
  let written = 0
  const server = createServer((socket) => {
    const lines = Buffer.from('\r\n'.repeat(8_192))
    const more = () => {
      while (socket.writable && socket.write(lines)) written += lines.length
    }
    socket.on('drain', more).on('error', () => {})
    more()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const outbound = createOutbound(['127.0.0.0/8'])
  const { port } = server.address() as AddressInfo
  const own = { server: `127.0.0.1:${port}`, tls: 'none', from: 'a@b.example', to: ['c@b.example'] }
  const channel = channelSchema.parse({ kind: 'mail', ...own })
  const result = await notifierFor(channel).notify(outgoing(), channel as never, outbound.send)
  expect(result.outcome).toBe('retry')
  expect(written).toBeLessThan(16 * 1024 * 1024)
  await outbound.close()
  await new Promise((resolve) => server.close(resolve))
})

test('of a Basic header, the password is masked, too', () => {
  const basic = Buffer.from('user:a-password-of-8').toString('base64')
  const headers = { Authorization: `Basic ${basic}` }
  const hook = { kind: 'http', url: 'https://hook.example', body: {}, headers }
  const mask = maskOf(channelSecrets(channelSchema.parse(hook)))
  expect(mask('no user:a-password-of-8, no a-password-of-8!')).toBe('no [secret], no [secret]!')
})

test.each([
  ['Authorization', 'Token token="sk_live/abc+DEF=123"', 'sk_live/abc+DEF'],
  ['Cookie', 'sid=abcSecret987; theme=dark', 'abcSecret987'],
])('of a header %s, each part that may be a secret is masked', (name, value, secret) => {
  const hook = {
    kind: 'http',
    url: 'https://hook.example/in',
    body: {},
    headers: { [name]: value },
  }
  const mask = maskOf(channelSecrets(channelSchema.parse(hook)))
  expect(mask(`no ${secret}!`)).toBe('no [secret]!')
  expect(mask('see https://hook.example/docs')).toBe('see https://hook.example/docs')
})

test('a token that no header can carry is not shown', async () => {
  const { graph } = apisAt(() => tokenOf('a token\nwith a line break'))
  const shown = await graph.listEvents([subscription]).catch((error: Error) => error.message)
  expect(shown).toContain('the answer has no token')
  expect(shown).not.toContain('line break')
})

test('an error without end is one short line', async () => {
  const message = `${'no '.repeat(70_000)}\r\n{"level":"info"}`
  const { graph } = apisAt((url) =>
    url.includes('/resources')
      ? Response.json({ error: { code: 'Bad\nCode', message } }, { status: 400 })
      : tokenOf('token'),
  )
  const shown = String(await graph.listEvents([subscription]).catch((error) => error.message))
  expect(shown.length).toBeLessThan(700)
  expect(shown).not.toMatch(/[\r\n]/)
})

test('a mail server that repeats the login puts no password into log or console', () => {
  const { user, password } = channels.mail as { user: string; password: string }
  const said = [
    password,
    btoa(password),
    btoa(`\0${user}\0${password}`),
    `AUTH PLAIN ${btoa(`\0${user}\0${password}`)}`,
    encodeURIComponent(password),
  ]
  const secrets = channelSecrets(channels.mail)
  const lines: string[] = []
  const log = createLog({ write: (line) => lines.push(line), now, level: 'info', secrets })
  for (const text of said) {
    const shown = maskOf(secrets)(`535 not accepted: ${text}`)
    log.info('x', { note: `535 not accepted: ${text}` })
    for (const one of [shown, lines.at(-1)!]) {
      expect(one).toContain('[secret]')
      for (const form of said) expect(one).not.toContain(form)
    }
  }
})

test.each([
  ['ship.grid', { kind: 'event-grid', endpoint: 'http://topic.example/api/events' }, 'https://'],
])('%s over plain http is refused', (path, value, remedy) => {
  const text = mistakesOf(JSON.stringify(withValue(path, value)))
  expect(text).toContain(`${path}.endpoint`)
  expect(text).toContain(remedy)
})

test.each(['Host', 'content-length', 'Transfer-Encoding', 'Connection', 'Proxy-Authorization'])(
  'the header %s of a request is not the owner’s',
  (name) => {
    const hook = { kind: 'http', url: 'https://hook.example', body: {}, headers: { [name]: 'x' } }
    const text = mistakesOf(JSON.stringify(withValue('channels.hook', hook)))
    expect(text).toContain('the relay writes this header itself')
  },
)
