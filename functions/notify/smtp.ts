// Sends mails for hosts on Node, with nodemailer. A request has the mail as JSON, and its answer the
// status of HTTP that means the same as the server's reply.
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { createTransport } from 'nodemailer'
import type { Send } from './notifier.ts'

interface Request {
  from: string
  to: string[]
  subject: string
  text: string
  html: string
  headers: Record<string, string>
  login?: { user: string; pass: string }
  tls: 'required' | 'none'
}

interface Refusal {
  code?: string
  responseCode?: number
  response?: string
}

/** Throws FoghornError if the relay must not connect to this address. */
type Judge = (address: string, plain: boolean) => void

/** Guarded as requests over HTTP are. Certificates must be valid. */
export function createSmtpSend(judge: Judge, lookupFor: (plain: boolean) => LookupFunction): Send {
  return async (url, { body, signal }) => {
    const { protocol, hostname, port } = new URL(url)
    signal?.throwIfAborted()
    const host = hostname.replace(/^\[|\]$/g, '')
    const { login, tls, ...mail } = JSON.parse(body!) as Request
    const plain = tls === 'none'
    if (isIP(host) !== 0) judge(host, plain)
    const socket = await connected(host, Number(port), lookupFor(plain), signal)
    const end = () => socket.destroy()
    signal?.addEventListener('abort', end)
    const transport = createTransport({
      host,
      port: Number(port),
      secure: protocol === 'smtps:',
      requireTLS: !plain,
      ignoreTLS: plain,
      ...(login && { auth: login }),
      tls: { servername: isIP(host) === 0 ? host : '' },
      getSocket: (_: unknown, done: (error: null, options: { connection: Socket }) => void) =>
        done(null, { connection: socket }),
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    try {
      const { response } = await transport.sendMail(mail)
      return answer(200, response)
    } catch (error) {
      const { code: name, responseCode: code, response = '' } = error as Refusal
      if (name === 'ETLS') return answer(401, 'SMTP: the server offers no TLS')
      if (code === undefined) throw error
      return answer(statusFor(code), `SMTP ${response}`)
    } finally {
      signal?.removeEventListener('abort', end)
      transport.close()
      end()
    }
  }
}

function connected(
  host: string,
  port: number,
  lookup: LookupFunction,
  signal: AbortSignal | undefined,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, lookup })
    const end = () => socket.destroy(new Error('aborted'))
    signal?.addEventListener('abort', end, { once: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      signal?.removeEventListener('abort', end)
      socket.off('error', reject)
      resolve(socket)
    })
  })
}

/** Of the server's reply (RFC 5321, 4954): temporary, wrong credentials, or a refusal. */
function statusFor(code: number): number {
  if (code < 500) return 503
  return [530, 534, 535, 538].includes(code) ? 401 : 400
}

function answer(status: number, text: string): Awaited<ReturnType<Send>> {
  const body = (async function* () {
    yield new TextEncoder().encode(text)
  })()
  return { status, headers: { get: () => null }, body }
}
