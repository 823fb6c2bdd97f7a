// The form's own token: only the page that this link showed can decide, and only what it showed.
import { describe, expect, test } from 'vitest'
import { createFormToken } from '../../../functions/links/link.ts'
import { fieldsOf } from '../../support/form.ts'
import { forge, linkOf, press, submit, textOf } from '../../support/people.ts'
import { beacon, eventNow, relayForEach, report, world } from '../../support/relay.ts'
import { event, startAt } from '../../support/world.ts'

relayForEach(() => report(event()))

/** The form of the page as it is now. */
async function formAt(path: string): Promise<string> {
  return fieldsOf(await (await world.app.request(path)).text()).form!
}

const changed = (text: string, at: number) =>
  `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`

describe('a form that is not of this link decides nothing', () => {
  const others: [string, (own: string) => string | undefined | Promise<string>][] = [
    ['none', () => undefined],
    ['an empty one', () => ''],
    ['one that is made up', () => '1-0123456789abcdef.AAAA'],
    ['one without its signature', (own) => own.split('.')[0]!],
    ['one with another signature', (own) => changed(own, own.indexOf('.') + 2)],
    ['one with another stamp', (own) => changed(own, 3)],
    ['one with a part too many', (own) => `${own}.A`],
    [
      'that of the same event for another channel',
      async () => formAt(await forge(world, { channel: 'team' })),
    ],
    ['that of an older link', async () => formAt(await forge(world, { issuedAt: startAt - 1 }))],
    ['the signature of the link itself', () => `1-0.${linkOf(world).split('.').at(-1)}`],
    [
      'one that a stranger signed',
      (own) =>
        createFormToken([new Uint8Array(32).fill(9)], linkOf(world).slice(9), own.split('.')[0]!),
    ],
  ]

  test.each(others)('%s', async (_, make) => {
    const form = await make(await formAt(linkOf(world)))
    const before = await world.store.contents()
    const fields = { decision: 'approve', ...(form === undefined ? {} : { form }) }
    const response = await submit(world, linkOf(world), fields)
    expect(response.status).toBe(403)
    expect(await world.store.contents()).toEqual(before)
  })

  test('that of another event', async () => {
    await beacon.sees([event(), event({ eventId: 'other' })])
    const form = await formAt(await forge(world, { eventId: 'other' }))
    const before = await world.store.contents()
    expect((await submit(world, linkOf(world), { decision: 'approve', form })).status).toBe(403)
    expect(await world.store.contents()).toEqual(before)
  })
})

describe('the second tap of a double one', () => {
  test('on the page that answers the first it decides nothing; 1.5 s later it counts', async () => {
    const path = linkOf(world)
    const answer = await (await press(world, path, 'not_now')).text()
    const { form = '' } = fieldsOf(answer)
    world.clock.now += 1_499
    const before = await world.store.contents()
    const quick = await submit(world, path, { decision: 'approve', form })
    expect(quick.status).toBe(409)
    expect(await world.store.contents()).toEqual(before)
    world.clock.now += 1
    expect((await submit(world, path, { decision: 'approve', form })).status).toBe(200)
  })

  test.each([
    ['a link of our own page', 'same-origin', 409],
    ['a message', 'cross-site', 200],
  ])('a page that was opened from %s', async (_, site, status) => {
    const headers = { 'sec-fetch-site': site }
    const page = await world.app.request(linkOf(world), { headers })
    const { form = '' } = fieldsOf(await page.text())
    expect((await submit(world, linkOf(world), { decision: 'approve', form })).status).toBe(status)
  })

  test('nobody can change when a form counts', async () => {
    const answer = await (await press(world, linkOf(world), 'not_now')).text()
    const form = fieldsOf(answer).form!.replace(/~\d+/, '~1')
    expect((await submit(world, linkOf(world), { decision: 'approve', form })).status).toBe(403)
  })
})

describe('a decision is about the state that the page showed', () => {
  test('other VMs meanwhile: nothing is decided, and the page shows them', async () => {
    const form = await formAt(linkOf(world))
    await beacon.sees([event({ resources: ['web_0', 'web_1'] })])
    const response = await submit(world, linkOf(world), { decision: 'approve', form })
    expect(response.status).toBe(409)
    expect(await textOf(response)).toContain('web_0, web_1')
    expect((await eventNow()).approvals).toEqual([])
    expect((await press(world, linkOf(world), 'approve')).status).toBe(200)
  })

  test('another epoch: nothing is decided', async () => {
    const path = linkOf(world)
    const form = await formAt(path)
    await beacon.sees([])
    await world.pass(10_001)
    await beacon.sees([event()])
    expect((await submit(world, path, { decision: 'approve', form })).status).toBe(409)
    expect((await eventNow()).approvals).toEqual([])
  })

  test('a moved NotBefore is no other event', async () => {
    const form = await formAt(linkOf(world))
    await beacon.sees([event({ notBeforeAt: startAt + 60 * 60_000 })])
    expect((await submit(world, linkOf(world), { decision: 'approve', form })).status).toBe(200)
    expect((await eventNow()).approvals).toHaveLength(1)
  })

  test('the form of a page that was opened before the keys changed still works', async () => {
    const path = linkOf(world)
    const form = await formAt(path)
    world.relay.credentials.linkKeys = world.relay.credentials.linkKeys.toReversed()
    expect((await submit(world, path, { decision: 'approve', form })).status).toBe(200)
  })

  test('a form sent again after the decision changes nothing', async () => {
    const path = linkOf(world)
    const form = await formAt(path)
    await submit(world, path, { decision: 'approve', form })
    const before = await world.store.contents()
    for (const decision of ['approve', 'not_now']) {
      await submit(world, path, { decision, form })
    }
    expect(await world.store.contents()).toEqual(before)
  })
})
