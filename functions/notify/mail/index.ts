// E-mail, by SMTP or through Azure Communication Services. Hosts on Node speak SMTP (`../smtp.ts`).
import { toBase64 } from '../../../shared/signature.ts'
import type { Kind } from '../kind.ts'
import { fromError, fromStatus, isSuccess, isWebPage, type Notifier, post } from '../notifier.ts'
import { byAzure } from './azure.ts'
import { composeMail } from './compose.ts'
import { mailSchema, type Smtp } from './schema.ts'

const bySmtp: Notifier<Smtp> = {
  takes: 'newest',
  buttons: undefined,
  // many servers accept 30 a minute from a sender
  rate: { everyMs: 2_000, burst: 2, together: 20, atOnce: 4 },
  async notify(outgoing, { endpoint, user, password, tls, from, to, timeZone }, send) {
    const login = user === undefined ? undefined : { user, pass: password }
    const { hostname } = new URL(outgoing.publicUrl)
    // an address would need brackets (RFC 5321, 4.1.3)
    const name = /\.[a-z]/i.test(hostname) ? { name: hostname } : {}
    const body = JSON.stringify({
      ...composeMail(outgoing, timeZone),
      from,
      to,
      login,
      tls,
      ...name,
    })
    const headers = { 'content-type': 'application/json' }
    try {
      const answer = await post(send, endpoint, body, headers, outgoing.signal)
      return isSuccess(answer.status) && !isWebPage(answer)
        ? { outcome: 'delivered', note: `HTTP ${answer.status}` }
        : fromStatus(answer, outgoing.now)
    } catch (error) {
      return fromError(error, outgoing)
    }
  },
}

export const mail: Kind<typeof mailSchema> = {
  name: 'Mail',
  schema: mailSchema,
  // as AUTH PLAIN sends them (RFC 4616)
  joined: (channel) =>
    'user' in channel && channel.user
      ? [toBase64(new TextEncoder().encode(`\0${channel.user}\0${channel.password}`))]
      : [],
  open: ['from', 'to', 'tls', 'user', 'timeZone'],
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
