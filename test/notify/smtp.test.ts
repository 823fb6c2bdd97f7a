// Mails through a real SMTP server: TLS, login, what it refuses, and the guard of addresses.
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { rootCertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Channel, channelSchema } from '../../functions/notify/registry.ts'
import { createOutbound, type Outbound } from '../../functions/notify/undici.ts'
import { createAuthority } from '../support/certificate.ts'
import { login, startExim, whyNoExim } from '../support/exim.ts'
import { freePort } from '../support/stage.ts'
import { notifierFor } from './kinds.ts'
import { outgoing } from './outgoing.ts'
import { scenes } from './scenes.ts'

const why = whyNoExim()

const authority = createAuthority()
const tls = authority.issue({ host: '127.0.0.1' })
let exim: Awaited<ReturnType<typeof startExim>> | undefined
let outbound: Outbound

beforeAll(() => {
  setDefaultCACertificates([...rootCertificates, authority.certificate])
  outbound = createOutbound(['127.0.0.0/8'])
})

afterEach(async () => {
  await exim?.stop()
  exim = undefined
})

afterAll(async () => {
  setDefaultCACertificates([...rootCertificates])
  await outbound.close()
})

type Started = Omit<Parameters<typeof startExim>[0], 'port'>

/** A server, and a channel that sends there. */
async function start(options: Started, changes: object = {}): Promise<Channel> {
  const port = options.isImplicit ? 465 : await freePort()
  exim = await startExim({ port, ...options })
  return channelSchema.parse({
    ...{ kind: 'mail', server: `127.0.0.1:${port}`, ...login },
    ...{ from: 'foghorn@foghorn.example', to: ['ops@foghorn.example', 'on-call@foghorn.example'] },
    ...changes,
  })
}

const send = (channel: Channel, what = outgoing(), by = outbound) =>
  notifierFor(channel).notify(what, channel as never, by.send)

describe.skipIf(why !== undefined)(`an SMTP server${why ? `, skipped: ${why}` : ''}`, () => {
  test('gets a mail under TLS, with a thread for each event and the link', async () => {
    const channel = await start({ tls })
    expect(await send(channel, scenes.scheduled)).toMatchObject({ outcome: 'delivered' })
    const later = scenes.completed!
    const delivery = { ...later.delivery, id: 'prod/an-event/1/completed/mail' }
    expect(await send(channel, { ...later, delivery })).toMatchObject({ outcome: 'delivered' })
    await expect.poll(() => exim!.mails().length, { timeout: 10_000 }).toBe(4)
    const mails = exim!.mails()
    const field = (mail: string, name: string) =>
      new RegExp(`^${name}: (.*(?:\n .*)*)`, 'm').exec(mail)?.[1]
    expect(mails.filter((mail) => !/with esmtpsa/i.test(mail))).toEqual([])
    expect(new Set(mails.map((mail) => field(mail, 'References'))).size).toBe(1)
    expect(new Set(mails.map((mail) => field(mail, 'Message-ID'))).size).toBe(2)
    const first = mails.find((mail) => mail.includes('Open to decide'))!
    expect(field(first, 'Auto-Submitted')).toBe('auto-generated')
    expect(first.replace(/=\n/g, '')).toContain('https://foghorn.example/approve/token')
    expect(first).toMatch(/multipart\/alternative/)
  })

  test('on port 465 gets it under TLS from the first byte', async () => {
    const channel = await start({ tls, isImplicit: true })
    expect(await send(channel)).toMatchObject({ outcome: 'delivered' })
  })

  test.each<[string, Started, object, object]>([
    [
      'a wrong password is a refusal of all',
      { tls },
      { password: 'another' },
      { outcome: 'refused', broken: true },
    ],
    [
      'an unknown address is refused',
      { tls },
      { to: 'nobody@foghorn.example' },
      { outcome: 'refused', note: expect.stringContaining('no such user') },
    ],
    [
      'come back is a retry',
      { tls },
      { to: 'later@foghorn.example' },
      { outcome: 'retry', note: expect.stringContaining('come back') },
    ],
    [
      'without TLS, nothing is sent',
      {},
      {},
      { outcome: 'refused', broken: true, note: 'HTTP 401: SMTP: the server offers no TLS' },
    ],
    [
      'who is unknown among others is named by number',
      { tls },
      { to: ['ops@foghorn.example', 'nobody@foghorn.example'] },
      { outcome: 'refused', note: 'HTTP 400: SMTP refused 1 of 2 addresses' },
    ],
    [
      'who may be there later is tried again',
      { tls },
      { to: ['ops@foghorn.example', 'later@foghorn.example'] },
      { outcome: 'retry', note: expect.stringContaining('come back') },
    ],
    [
      'with "tls": "none", it is',
      {},
      { tls: 'none', user: undefined, password: undefined },
      { outcome: 'delivered' },
    ],
  ])('%s', async (_, options, changes, expected) => {
    const channel = await start(options, changes)
    const result = await send(channel)
    expect(result).toMatchObject(expected)
    expect(JSON.stringify(result)).not.toContain(login.password)
  })

  test('a certificate that nobody vouches for is not trusted', async () => {
    const channel = await start({ tls: createAuthority('another').issue({ host: '127.0.0.1' }) })
    expect(await send(channel)).toMatchObject({
      outcome: 'retry',
      note: expect.stringContaining('its certificate is not valid: '),
    })
  })

  test('in a private network is refused, unless the configuration allows it', async () => {
    const channel = await start({ tls })
    const guarded = createOutbound([])
    const result = await send(channel, outgoing(), guarded)
    expect(result).toMatchObject({ outcome: 'refused', broken: true })
    expect(result.note).toContain('private or reserved')
    await guarded.close()
    expect(exim!.mails()).toEqual([])
  })

  test('that does not answer in time is a retry', async () => {
    const channel = await start({ tls })
    const signal = AbortSignal.abort()
    expect(await send(channel, outgoing({ signal }))).toEqual({
      outcome: 'retry',
      note: 'no answer in time',
    })
  })
})

describe('a mistake', () => {
  const mail = { kind: 'mail', from: 'a@b.example', to: 'c@d.example' }
  test.each<[object, string[]]>([
    [mail, ['server: missing; write "server" for SMTP, or "endpoint"']],
    [{ ...mail, server: 'smtp.example:99999' }, ['server: write a port from 1 to 65535']],
    [{ ...mail, accessKey: 'x' }, ['endpoint: missing; write an absolute https://']],
    [{ ...mail, server: 'https://smtp.example' }, ['server: write the name of an SMTP server']],
    [{ ...mail, server: 'smtp.example', user: 'x' }, ['password: write "user" and "password"']],
    [{ ...mail, endpoint: 'https://mail.example' }, ['accessKey: missing; write an access key']],
    [
      { ...mail, server: 'a.example', endpoint: 'https://mail.example' },
      ['server: write "server" for SMTP, or'],
    ],
    [{ ...mail, server: 'a.example', to: 'ops' }, ['to: write an address such as']],
  ])('%j', (channel, said) => {
    const { issues } = channelSchema.safeParse(channel).error!
    const shown = issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n')
    for (const one of said) expect(shown).toContain(one)
  })
})

describe('a server that speaks by itself', () => {
  /** Answers what is listed by the first word of a line, and everything else with 250. */
  async function speaking(replies: Record<string, string>, delivery: object = {}) {
    const out = outgoing()
    const what = { ...out, delivery: { ...out.delivery, ...delivery } }
    const lines: string[] = []
    let isMail = false
    const server = createServer((socket) => {
      socket.write('220 mx.example\r\n')
      socket.on('error', () => {})
      createInterface(socket).on('line', (line) => {
        lines.push(line)
        const word = line.split(' ', 1)[0]!
        // until a line with a dot alone, it is the mail
        if (isMail && word !== '.') return
        isMail = word === 'DATA'
        const usual = word === 'EHLO' ? '250-mx.example\r\n250 AUTH PLAIN' : '250 ok'
        socket.write(`${replies[word] ?? usual}\r\n`)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const channel = channelSchema.parse({
      ...{ kind: 'mail', server: `127.0.0.1:${port}`, tls: 'none', ...login },
      ...{ from: 'foghorn@foghorn.example', to: 'ops@foghorn.example' },
    })
    const result = await send(channel, what)
    await new Promise((resolve) => server.close(resolve))
    return { result, lines }
  }

  test.each([
    '535 bad credentials',
    '553 Auth failure',
    '502 not implemented',
    '503 not advertised',
    '504 unrecognized',
    'what is this',
  ])('%s to the login: no mail gets in', async (reply) => {
    const { result } = await speaking({ AUTH: reply })
    expect(result).toMatchObject({ outcome: 'refused', broken: true })
    expect(result.note).toContain(reply)
  })

  test('an answer to the mail that nobody can read is tried twice, as it may have arrived', async () => {
    const odd = { AUTH: '235 ok', DATA: '354 go on', '.': 'thank you' }
    const first = await speaking(odd)
    expect(first.result).toMatchObject({ outcome: 'retry', note: 'no readable answer: EMESSAGE' })
    const again = await speaking(odd, { attempts: 2 })
    expect(again.result).toMatchObject({ outcome: 'refused', mayHaveArrived: true })
  })

  test('a login that may work later is tried again', async () => {
    expect((await speaking({ AUTH: '454 later' })).result.outcome).toBe('retry')
  })

  test('is greeted by the name of the relay', async () => {
    const { lines } = await speaking({ AUTH: '535 no' })
    expect(lines[0]).toBe('EHLO foghorn.example')
  })
})
