// E-mail, by SMTP or through Azure Communication Services. Hosts on Node speak SMTP (`../smtp.ts`).
import { fromBase64, type Hmac, toBase64 } from '../../../shared/signature.ts'
import type { SendOutcome } from '../../core/delivery/attempt.ts'
import { hash } from '../../core/hash.ts'
import type { Kind } from '../kind.ts'
import {
  fromError,
  fromStatus,
  isSuccess,
  isWebPage,
  type Notifier,
  type Outgoing,
  post,
} from '../notifier.ts'
import { idOfMail, mailOf } from './compose.ts'
import { type AzureMail, mailSchema, type Smtp } from './schema.ts'

const apiVersion = '2023-03-31'

const common = { takes: 'newest', buttons: undefined } as const

const bySmtp: Notifier<Smtp> = {
  ...common,
  // many servers accept 30 a minute from a sender
  rate: { everyMs: 2_000, burst: 2, together: 20, atOnce: 4 },
  async notify(outgoing, { endpoint, user, password, tls, from, to }, send) {
    const login = user === undefined ? undefined : { user, pass: password }
    const { hostname } = new URL(outgoing.publicUrl)
    const name = hostname.includes('.') ? { name: hostname } : {}
    const body = JSON.stringify({ ...mailOf(outgoing), from, to, login, tls, ...name })
    return attempt(outgoing, () => {
      return post(send, endpoint, body, { 'content-type': 'application/json' }, outgoing.signal)
    })
  },
}

const byAzure: Notifier<AzureMail> = {
  ...common,
  // A domain that Azure manages accepts 10 an hour, so what waits becomes one mail:
  // https://learn.microsoft.com/azure/communication-services/concepts/service-limits#email
  rate: { everyMs: 600_000, burst: 5, together: 20, atOnce: 4 },
  async notify(outgoing, { endpoint, accessKey, from, to }, send) {
    const { subject, text, html, headers } = mailOf(outgoing)
    // Azure sets its own id
    const { 'Message-ID': _, ...kept } = headers
    const body = JSON.stringify({
      senderAddress: from,
      recipients: { to: to.map((address) => ({ address })) },
      content: { subject, plainText: text, html },
      headers: kept,
    })
    const url = `${endpoint}/emails:send?api-version=${apiVersion}`
    return attempt(outgoing, async () => {
      const signed = await signatureOf(url, body, accessKey, outgoing)
      const own = {
        'content-type': 'application/json',
        'operation-id': uuidOf(idOfMail(outgoing)),
      }
      return post(send, url, body, { ...own, ...signed }, outgoing.signal)
    })
  },
}

export const mail: Kind<typeof mailSchema> = {
  schema: mailSchema,
  // as AUTH PLAIN sends them (RFC 4616)
  joined: (channel) =>
    'user' in channel && channel.user
      ? [toBase64(new TextEncoder().encode(`\0${channel.user}\0${channel.password}`))]
      : [],
  open: ['from', 'to', 'tls', 'user'],
  placeholders: {
    server: () => 'smtp.env.invalid',
    user: (name) => name,
    password: (name) => name,
    from: () => 'from@env.invalid',
    to: () => 'to@env.invalid',
    accessKey: (name) => toBase64(new TextEncoder().encode(name.padEnd(33, '.').slice(0, 66))),
  },
  notifiers: { mail: bySmtp, mail_azure: byAzure },
}

async function attempt(
  outgoing: Outgoing,
  request: () => ReturnType<typeof post>,
): Promise<SendOutcome> {
  try {
    const answer = await request()
    if (isSuccess(answer.status) && !isWebPage(answer))
      return { outcome: 'delivered', note: `HTTP ${answer.status}` }
    return fromStatus(answer, outgoing.now)
  } catch (error) {
    return fromError(error, outgoing)
  }
}

/** https://learn.microsoft.com/rest/api/communication/authentication#sign-an-http-request */
async function signatureOf(
  url: string,
  body: string,
  accessKey: string,
  { now, hmac }: { now: number; hmac: Hmac },
): Promise<Record<string, string>> {
  const { host, pathname, search } = new URL(url)
  const date = new Date(now).toUTCString()
  const digest = toBase64(bytesOf(hash(body)))
  const content = `POST\n${pathname}${search}\n${date};${host};${digest}`
  const signature = toBase64(await hmac(fromBase64(accessKey)!, content))
  return {
    'x-ms-date': date,
    'x-ms-content-sha256': digest,
    authorization: `HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${signature}`,
  }
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
}

/** Names the mail to Azure. */
function uuidOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')
}
