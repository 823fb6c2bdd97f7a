// Sends mails for hosts on Node, with nodemailer. A request has the mail as JSON, and its answer the
// status of HTTP that means the same as the server's reply.
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { FoghornError } from '../../shared/errors.ts'
import { ciphers } from './ciphers.ts'
import { certificateInvalid, oneLine, type Send } from './notifier.ts'

interface Request {
  from: string
  to: string[]
  subject: string
  text: string
  html: string
  headers: Record<string, string>
  login?: { user: string; pass: string }
  /** How the relay names itself. Strict servers refuse a name without a dot. */
  name?: string
  tls: 'required' | 'none'
}

interface Transport {
  sendMail(mail: object): Promise<{ response: string; rejectedErrors?: Refusal[] }>
}

interface Refusal {
  code?: string
  responseCode?: number
  response?: string
}

/** Bytes that a server sends for one mail: its certificate, and a few lines. Each empty line costs time. */
const maxAnswerBytes = 64 * 1024
/** Lines that a server sends before TLS. */
const maxLines = 200
const lookMs = 10

/** Throws FoghornError if the relay must not connect to this address. */
type Judge = (address: string, plain: boolean) => void

/** Sends mails, guarded as requests over HTTP are. Certificates must be valid. */
export function createSmtpSend(judge: Judge, lookupFor: (plain: boolean) => LookupFunction): Send {
  return async (url, { body, signal }) => {
    const { protocol, hostname, port } = new URL(url)
    signal?.throwIfAborted()
    const host = hostname.replace(/^\[|\]$/g, '')
    const { login, tls, name, ...mail } = JSON.parse(body!) as Request
    const plain = tls === 'none'
    if (isIP(host) !== 0) judge(host, plain)
    // loaded only where a mail is sent
    const { createTransport } = await import('nodemailer')
    const socket = await connected(host, Number(port), lookupFor(plain), signal)
    const end = () => socket.destroy()
    const watch = endFloods(socket)
    signal?.addEventListener('abort', end)
    const transport = createTransport({
      host,
      port: Number(port),
      secure: protocol === 'smtps:',
      requireTLS: !plain,
      ignoreTLS: plain,
      ...(login && { auth: login }),
      ...(name && { name }),
      tls: { servername: isIP(host) === 0 ? host : '', ciphers },
      getSocket: (_: unknown, done: (error: null, options: { connection: Socket }) => void) =>
        done(null, { connection: socket }),
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    try {
      return await given(transport, mail, signal)
    } finally {
      signal?.removeEventListener('abort', end)
      clearInterval(watch)
      transport.close()
      end()
    }
  }
}

/** Ends the connection of a server that sends without end: before the library sees it, and under TLS soon. */
function endFloods(socket: Socket): NodeJS.Timeout {
  const end = () => socket.destroy(new Error('the server sends too much'))
  const push = socket.push.bind(socket)
  let lines = 0
  socket.push = (chunk: Buffer | null, encoding) => {
    for (const byte of chunk ?? []) if (byte === lineEnd) lines += 1
    const isTooMuch = lines > maxLines || socket.bytesRead > maxAnswerBytes
    if (!isTooMuch) return push(chunk, encoding)
    end()
    return false
  }
  return setInterval(() => {
    if (socket.bytesRead > maxAnswerBytes) end()
  }, lookMs)
}

const lineEnd = 0x0a

async function given(
  transport: Transport,
  mail: Omit<Request, 'login' | 'tls' | 'name'>,
  signal: AbortSignal | undefined,
) {
  try {
    const { response, rejectedErrors = [] } = await transport.sendMail(mail)
    // those who have the mail may get it again, under the same Message-ID
    const later = rejectedErrors.find(({ responseCode = 0 }) => responseCode < 500)
    if (later !== undefined) return answer(503, `SMTP ${later.response}`)
    const lost = rejectedErrors.length
    if (lost === 0) return answer(200, response)
    return answer(400, `SMTP refused ${lost} of ${mail.to.length} addresses`)
  } catch (error) {
    signal?.throwIfAborted()
    const { code: name, responseCode: code = 0, response = '' } = error as Refusal
    if (name === 'ETLS' && code >= 500) return answer(401, 'SMTP: the server offers no TLS')
    // whatever the server calls it, also if nobody can read it: no mail gets in
    if (name === 'EAUTH' && (code === 0 || code >= 500)) {
      return answer(401, `SMTP ${response || 'the answer to the login cannot be read'}`)
    }
    if (code === 0) throw explained(error)
    return answer(statusFor(code), `SMTP ${response}`)
  }
}

/** The library gives each failure of TLS the same code. */
function explained(error: unknown): unknown {
  const said = error instanceof Error ? error.message : ''
  if (!/certificate/i.test(said)) return error
  return new FoghornError(
    certificateInvalid,
    `no answer: its certificate is not valid: ${oneLine(said)}`,
  )
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

/** Turns a server's reply (RFC 5321, 4954) into a status: temporary, wrong credentials, or a refusal. */
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
