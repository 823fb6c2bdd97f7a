// *I'm on it*, and the reason of a decision: what others see of them, on pages, in messages and in the API.
import { expect, test } from 'vitest'
import { fieldsOf } from '../../support/form.ts'
import { linkOf, press, submit, textOf } from '../../support/people.ts'
import { eventNow, minute, moments, relayForEach, report, world } from '../../support/relay.ts'
import { askApi } from '../../support/tokens.ts'
import { adminKey, event, eventId } from '../../support/world.ts'

relayForEach(async () => {
  await report(event())
})

const page = async () => textOf(await world.app.request(linkOf(world)))
const decide = (body: object) =>
  askApi(world, adminKey, `/v1/events/prod/${eventId}/decision`, {
    method: 'POST',
    body: JSON.stringify(body),
  })

test('others see who has it, nothing is decided and nobody is told', async () => {
  const answer = await press(world, linkOf(world), 'take')
  expect(await textOf(answer)).toContain('Others see that you are looking at it.')
  await world.drain()
  expect(moments()).toEqual(['scheduled'])
  const { taken, approvals } = await eventNow()
  expect(taken).toEqual({ how: 'link', who: 'chat', at: expect.any(String) })
  expect(approvals).toEqual([])
  expect(await page()).toMatch(
    /Taken through the link sent to "chat" , 12:00 UTC .*Let Azure restart it/,
  )
})

test('who gives it back is no longer shown, and the history has both', async () => {
  await press(world, linkOf(world), 'take')
  expect(await page()).toContain('Give it back')
  await press(world, linkOf(world), 'give_back')
  const { taken, history } = await eventNow()
  expect(taken).toBeUndefined()
  expect(history.map(({ what }: { what: string }) => what)).toEqual(['seen', 'taken', 'given_back'])
  expect(await page()).toContain("I'm on it")
})

test('the last one counts, and after the end nobody has it any more', async () => {
  await press(world, linkOf(world), 'take')
  await world.pass(minute)
  expect((await decide({ decision: 'take' })).status).toBe(200)
  expect((await eventNow()).taken).toMatchObject({ how: 'admin' })
  await report()
  await world.pass(minute)
  expect(await page()).not.toContain('Taken with the admin key, 12:01')
  const late = await decide({ decision: 'take' })
  expect([late.status, await late.json()]).toMatchObject([409, { code: 'ended' }])
})

test('a reason stays with the decision, wherever people read who decided', async () => {
  const path = linkOf(world)
  const shown = fieldsOf(await (await world.app.request(path)).text())
  const reason = '  the backup\n  runs  '
  await submit(world, path, { ...shown, decision: 'not_now', reason })
  await world.drain()
  expect(world.sent.at(-1)!.body).toContain('the backup runs')
  expect((await eventNow()).approvals).toMatchObject([{ reason: 'the backup runs' }])
  expect(await page()).toContain(
    'Left to Azure through the link sent to "chat" ("the backup runs")',
  )
})

test('a reason in the API has at most 200 characters, and one from a page is cut', async () => {
  const long = 'x'.repeat(201)
  expect((await decide({ decision: 'approve', reason: long })).status).toBe(400)
  expect((await decide({ decision: 'take', reason: 'no decision' })).status).toBe(400)
  const path = linkOf(world)
  const shown = fieldsOf(await (await world.app.request(path)).text())
  await submit(world, path, { ...shown, decision: 'approve', reason: long })
  expect((await eventNow()).approvals[0].reason).toHaveLength(200)
})

test('who comes through a link may give a name, which is in quotes as nothing proves it', async () => {
  const path = linkOf(world)
  const shown = fieldsOf(await (await world.app.request(path)).text())
  await submit(world, path, { ...shown, decision: 'take', name: ` Ada\n ${'x'.repeat(50)}` })
  expect((await eventNow()).taken.name).toHaveLength(40)
  await submit(world, path, { ...shown, decision: 'not_now', name: 'Ada', reason: 'backup' })
  await world.drain()
  const said =
    /[Ll]eft to Azure by \\*"Ada\\*"\s*, through the link sent to \\*"chat\\*" \(\s*\\*"backup\\*"\s*\)/
  expect((await page()).split(said)).toHaveLength(3)
  expect(world.sent.some(({ body }) => said.test(body))).toBe(true)
  expect((await eventNow()).approvals).toMatchObject([{ how: 'link', who: 'chat', name: 'Ada' }])
})
