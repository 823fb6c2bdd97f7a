// The button "Prepare now": who has it, what pressing it changes, and what the page says of VMs that
// are not ready.
import { beforeEach, describe, expect, test } from 'vitest'
import { buttonsOf } from '../../support/form.ts'
import { linkOf, press, textOf, watch } from '../../support/people.ts'
import { beacon, eventNow, moments, startRelay, world } from '../../support/relay.ts'
import { event } from '../../support/world.ts'

const all = ['approve', 'not_now', 'prepare']

beforeEach(async () => {
  await startRelay()
  await beacon.runs([event()], 'planned')
  await world.drain()
})

const show = async () => (await world.app.request(linkOf(world))).text()
const answer = async () => (await beacon.runs([event()], 'planned')).preparations

test('asks the VMs to prepare, decides nothing and notifies nobody', async () => {
  expect(buttonsOf(await show())).toEqual(all)
  expect(await answer()).toEqual([])
  const response = await press(world, linkOf(world), 'prepare')
  expect(response.status).toBe(200)
  expect(buttonsOf(await response.text())).toEqual(['approve', 'not_now'])
  expect(await answer()).toMatchObject([{ when: 'now' }])
  await world.drain()
  const { approvals, history, prepareNow } = await eventNow()
  expect([approvals, moments()]).toEqual([[], ['scheduled']])
  expect(prepareNow).toMatchObject({ how: 'link', who: 'chat' })
  expect(history.map(({ what }: { what: string }) => what)).toContain('prepare_now')
})

test('after "not now" it is still possible', async () => {
  await press(world, linkOf(world), 'not_now')
  expect(buttonsOf(await show())).toEqual(['approve', 'prepare'])
  expect((await press(world, linkOf(world), 'prepare')).status).toBe(200)
  expect(await answer()).toMatchObject([{ when: 'now' }])
})

test('a press that comes too late changes nothing', async () => {
  await beacon.runs([event()], 'running')
  expect(buttonsOf(await show())).toEqual(['approve', 'not_now'])
  expect((await press(world, linkOf(world), 'prepare')).status).toBe(409)
  expect((await eventNow()).prepareNow).toBeUndefined()
  await press(world, linkOf(world), 'approve')
  expect(await textOf(await press(world, linkOf(world), 'prepare'))).toContain('already approved')
})

test('only people who may approve have it', async () => {
  const approvers = [
    'entra:1e6d2f1c-0a4b-4c57-9b1e-5c2f0d9a7e11/7c9d2f1c-0a4b-4c57-9b1e-5c2f0d9a7e11',
  ]
  const routes = [{ match: {}, channels: ['chat', 'hook'], approvers }]
  await startRelay({ routes, signIn: { tenantId: approvers[0]!.slice(6, 42) } })
  await beacon.runs([event()], 'planned')
  await world.drain()
  expect(buttonsOf(await show())).toEqual([])
  expect((await press(world, linkOf(world), 'prepare')).status).toBe(403)
  expect((await eventNow()).prepareNow).toBeUndefined()
})

describe('an open page', () => {
  test('learns of readiness without a message', async () => {
    const before = await watch(world, linkOf(world))
    expect(buttonsOf(await before.text())).toContain('prepare')
    await beacon.runs([event()], 'succeeded')
    const after = await watch(world, linkOf(world), { etag: before.headers.get('etag')! })
    const html = await after.text()
    expect(buttonsOf(html)).not.toContain('prepare')
    expect(html).toContain('web_0 is ready')
  })

  test('says why a hook failed, as plain text', async () => {
    await beacon.runs([event()], 'failed', { exitCode: 7, note: '<b>no disk</b>\u202e' })
    const html = await show()
    expect(html).toContain('exit code 7')
    expect(html).not.toContain('<b>no disk')
    expect(html).not.toContain('\u202e')
  })
})
