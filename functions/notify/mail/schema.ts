// The configuration of kind `mail`: an SMTP server, or Azure Communication Services. The output is one of
// two kinds, as they have different rates.
import * as z from 'zod'
import { fromBase64 } from '../../../shared/signature.ts'
import { list, listChoices, textBy, webRule, webUrl } from '../../schema/checks.ts'
import { entry } from '../kind.ts'
import { timeZone } from '../time-zone.ts'

const addressRule = 'write an address such as "ops@example.com", without a name'
const address = textBy(addressRule).regex(/^[^\s@<>",;]{1,64}@[a-z0-9.-]{1,253}$/i, addressRule)
const portRule = 'write a port from 1 to 65535'
const serverRule =
  'write the name of an SMTP server, such as "smtp.example.com" or "smtp.example.com:465", without "smtp://"'
const keyRule = 'write an access key of Communication Services, which is base64'
const usualPort = 587
/** TLS from the first byte, not by STARTTLS. */
const securePort = 465

const parts = entry('mail', {
  server: z
    .string(serverRule)
    .regex(/^([a-z0-9.-]{1,253}|\[[0-9a-f:.]+\])(:\d{1,5})?$/i, serverRule)
    .refine((server) => choosePort(server) >= 1 && choosePort(server) <= 65_535, {
      error: portRule,
    })
    .optional()
    .describe('An SMTP server. The port is 587 if left out; on port 465, TLS begins at once.'),
  user: z.string().min(1).max(256).optional().describe('With `server`: who signs in there.'),
  password: z.string().min(1).max(1_024).optional().describe('With `user`. It is the secret.'),
  tls: listChoices(['required', 'none'])
    .optional()
    .describe('With `server`: `none` only for a server within allowNetworks. Default: required.'),
  endpoint: webUrl
    .optional()
    .describe('Instead of `server`: the endpoint of Azure Communication Services.'),
  accessKey: textBy(keyRule)
    .refine((key) => (fromBase64(key)?.length ?? 0) >= 32, { error: keyRule })
    .optional()
    .describe('With `endpoint`: its access key. It is the secret.'),
  timeZone,
  from: address.describe('The sender.'),
  to: list(address, `${addressRule}, or a list of these`).describe(
    'The address of the recipient, or a list.',
  ),
})

const either = '"server" for SMTP, or "endpoint" and "accessKey" for Azure Communication Services'

interface Common {
  from: string
  to: string[]
  timeZone?: string | undefined
  fallback?: string | undefined
}

export interface Smtp extends Common {
  kind: 'mail'
  /** `smtp://HOST:PORT`, or `smtps:` if TLS begins at once. */
  endpoint: string
  user?: string | undefined
  password?: string | undefined
  tls: 'required' | 'none'
}

export interface AzureMail extends Common {
  kind: 'mail_azure'
  endpoint: string
  accessKey: string
}

export const mailSchema = parts
  .check(({ value, issues }) => {
    const say = (path: string, message: string) => {
      issues.push({ code: 'custom', path: [path], message, input: undefined })
    }
    const { server, user, password, tls, endpoint, accessKey } = value
    const isAzure = endpoint !== undefined || accessKey !== undefined
    if (server !== undefined && isAzure) return say('server', `write ${either}, not both`)
    if (server === undefined && !isAzure) return say('server', `missing; write ${either}`)
    if ((user === undefined) !== (password === undefined)) {
      say('password', 'write "user" and "password", or neither')
    }
    if (!isAzure) return
    if (endpoint === undefined) say('endpoint', `missing; ${webRule}`)
    if (accessKey === undefined) say('accessKey', `missing; ${keyRule}`)
    for (const [key, own] of Object.entries({ user, password, tls })) {
      if (own !== undefined) say(key, 'only a "server" takes this; remove it')
    }
  })
  .transform(
    ({ server, user, password, tls, endpoint, accessKey, kind, ...rest }): Smtp | AzureMail => {
      if (server === undefined) {
        const base = endpoint!.replace(/\/+$/, '')
        return { ...rest, kind: 'mail_azure', endpoint: base, accessKey: accessKey! }
      }
      const port = choosePort(server)
      const host = server.replace(/:\d+$/, '')
      const scheme = port === securePort ? 'smtps' : 'smtp'
      return {
        ...rest,
        kind,
        endpoint: `${scheme}://${host}:${port}`,
        user,
        password,
        tls: tls ?? 'required',
      }
    },
  )

function choosePort(server: string): number {
  return Number(/:(\d+)$/.exec(server)?.[1] ?? usualPort)
}
