// Mail through Azure Communication Services. Azure accepts a mail before it knows whether it can send it, so
// the relay reads soon after what became of it.
import * as z from 'zod'
import { parseJson } from '../../../shared/json.ts'
import { fromBase64, type Hmac, toBase64 } from '../../../shared/signature.ts'
import type { SendOutcome } from '../../core/delivery/attempt.ts'
import { hash } from '../../core/hash.ts'
import {
  type Answer,
  fromError,
  fromStatus,
  isSuccess,
  isWebPage,
  type Notifier,
  type Outgoing,
  oneLine,
  request,
  type Send,
} from '../notifier.ts'
import { composeMail, idOfMail } from './compose.ts'
import type { AzureMail } from './schema.ts'

const apiVersion = '2023-03-31'
/** Waits before each look at an accepted mail. A domain that Azure manages allows 20 looks an hour. */
const looksMs = [3_000, 8_000]

type Method = 'POST' | 'GET'
type Endpoint = Pick<AzureMail, 'endpoint' | 'accessKey'>

export const byAzure: Notifier<AzureMail> = {
  takes: 'newest',
  buttons: undefined,
  // A domain that Azure manages accepts 10 an hour, so what waits becomes one mail:
  // https://learn.microsoft.com/azure/communication-services/concepts/service-limits#email
  rate: { everyMs: 600_000, burst: 5, together: 20, atOnce: 4 },
  async notify(outgoing, { from, to, timeZone, ...azure }, send) {
    const { subject, text, html, headers } = composeMail(outgoing, timeZone)
    // Azure sets its own id
    const { 'Message-ID': _, ...kept } = headers
    const mail = {
      senderAddress: from,
      recipients: { to: to.map((address) => ({ address })) },
      content: { subject, plainText: text, html },
      headers: kept,
    }
    const id = toUuid(idOfMail(outgoing))
    try {
      const answer = await ask(outgoing, azure, send, 'POST', '/emails:send', {
        ...{ body: JSON.stringify(mail), headers: { 'operation-id': id } },
      })
      if (!isSuccess(answer.status) || isWebPage(answer)) return fromStatus(answer, outgoing.now)
      const lookAfter = async (ms: number) => {
        await outgoing.wait(ms)
        return ask(outgoing, azure, send, 'GET', `/emails/operations/${id}`)
      }
      return (await whatBecame(answer, lookAfter)) ?? accepted(answer)
    } catch (error) {
      return fromError(error, outgoing)
    }
  },
}

function accepted({ status }: Answer): SendOutcome {
  return { outcome: 'delivered', note: `HTTP ${status}` }
}

/** https://learn.microsoft.com/rest/api/communication/email/email/get-send-result */
const operation = z.object({
  status: z.string(),
  error: z.object({ code: z.string().default(''), message: z.string().default('') }).optional(),
})

/**
 * Undefined if Azure does not say that the mail failed: it has accepted it, so another attempt could repeat
 * it. Throws nothing.
 */
async function whatBecame(
  answer: Answer,
  lookAfter: (ms: number) => Promise<Answer>,
): Promise<SendOutcome | undefined> {
  try {
    let { data } = operation.safeParse(parseJson(answer.text))
    for (const waitMs of looksMs) {
      if (!['NotStarted', 'Running'].includes(data?.status ?? '')) break
      data = operation.safeParse(parseJson((await lookAfter(waitMs)).text)).data
    }
    if (!['Failed', 'Canceled'].includes(data?.status ?? '')) return undefined
    const { code = '', message = '' } = data?.error ?? {}
    const why = [code, message].filter(Boolean).join(': ')
    return { outcome: 'refused', note: oneLine(`Azure did not send it: ${why || data?.status}`) }
  } catch {
    return undefined
  }
}

/** https://learn.microsoft.com/rest/api/communication/authentication#sign-an-http-request */
async function ask(
  { hmac, now, signal }: Outgoing,
  { endpoint, accessKey }: Endpoint,
  send: Send,
  method: Method,
  path: string,
  { body, headers = {} }: { body?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const url = `${endpoint}${path}?api-version=${apiVersion}`
  const signed = await computeSignature(method, url, body ?? '', accessKey, { now, hmac })
  const json = body === undefined ? {} : { 'content-type': 'application/json' }
  const all = { ...json, ...headers, ...signed }
  return request(send, method, url, { ...(body !== undefined && { body }), headers: all, signal })
}

async function computeSignature(
  method: Method,
  url: string,
  body: string,
  accessKey: string,
  { now, hmac }: { now: number; hmac: Hmac },
): Promise<Record<string, string>> {
  const { host, pathname, search } = new URL(url)
  const date = new Date(now).toUTCString()
  const digest = toBase64(toBytes(hash(body)))
  const content = `${method}\n${pathname}${search}\n${date};${host};${digest}`
  const signature = toBase64(await hmac(fromBase64(accessKey)!, content))
  return {
    'x-ms-date': date,
    'x-ms-content-sha256': digest,
    authorization: `HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${signature}`,
  }
}

function toBytes(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
}

/** Names the mail to Azure. */
function toUuid(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')
}
