// Mails through Azure Communication Services: the signature, and an id that makes a repetition one mail.
import { createHash, createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Part } from '../../functions/notify/notifier.ts'
import { channels } from './kinds.ts'
import { about, capture, outgoing } from './outgoing.ts'

const { accessKey } = channels.mail_azure

test('each request is signed as Azure asks', async () => {
  const { request } = await capture('mail_azure')
  const { headers, body, url } = request!
  const { host, pathname, search } = new URL(url)
  const digest = createHash('sha256').update(body).digest('base64')
  const content = `POST\n${pathname}${search}\n${headers['x-ms-date']};${host};${digest}`
  const key = Buffer.from(accessKey, 'base64')
  const signature = createHmac('sha256', key).update(content).digest('base64')
  expect(headers['x-ms-content-sha256']).toBe(digest)
  expect(headers.authorization).toBe(
    `HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${signature}`,
  )
})

test('a repeated attempt has the same id, and another message has another', async () => {
  const idOf = async (what = outgoing()) =>
    (await capture('mail_azure', what)).request!.headers['operation-id']
  const { delivery } = outgoing()
  const other = outgoing({ delivery: { ...delivery, id: 'prod/an-event/1/completed/mail' } })
  const [first, again, next] = [await idOf(), await idOf(), await idOf(other)]
  expect(first).toMatch(/^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/)
  expect([again === first, next === first]).toEqual([true, false])
})

test('events that wait are one mail, by scale set, the most urgent set first', async () => {
  const of = (name: string, scaleSet?: string) => {
    const what = about({ resources: [name] })
    const { notification } = what.delivery
    const vms = [{ name, ...(scaleSet && { scaleSet }) }]
    const event = { ...notification.event, vms }
    const delivery = {
      ...what.delivery,
      notification: { ...notification, event },
    } as Part['delivery']
    return { ...what, delivery }
  }
  const also = [of('db_0', 'db'), of('web_1', 'web'), of('alone')]
  const { request } = await capture('mail', { ...of('web_0', 'web'), also })
  const { text } = request!.json
  const order = ['Scale set web', 'web_0', 'web_1', 'Scale set db', 'db_0', 'Other VMs', 'alone']
  const places = order.map((part) => text.indexOf(part))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(places).not.toContain(-1)
  expect(request!.json.html).toContain('<h3>Scale set web</h3>')
})
