// An alert leads to the part of the console that shows what is wrong.
import { expect, test } from 'vitest'
import { problemAlerts } from '../../../functions/features/problems/alerts.ts'
import { ownChecks } from '../../../functions/features/problems/use.ts'
import { asAdmin } from '../../support/console.ts'
import { minute, relayForEach, startRelay, world } from '../../support/relay.ts'
import { baseConfig, type Sent } from '../../support/world.ts'

const { hook, ...others } = baseConfig.channels as Record<string, object>

relayForEach(() =>
  startRelay({
    owners: ['chat', 'team', 'pager', 'hook'],
    channels: { ...others, hook: { ...hook, links: 'decide' } },
  }),
)

/** The messages of an alert, by host. */
async function alerted(): Promise<Record<string, string>> {
  world.relay.host.abilities.disk = async () => ({ freeBytes: 1, totalBytes: 1e12 })
  await ownChecks.run(world.relay)
  await world.pass(10 * minute)
  const byHost = ({ url, body }: Sent) => [new URL(url).hostname, body]
  return Object.fromEntries(world.sent.map(byHost))
}

test('in chats and PagerDuty, and never as a link that decides', async () => {
  const sent = await alerted()
  const link = 'https://foghorn.example/console'
  const page = await world.app.request('/console')
  expect(page.status).toBe(200)
  expect(sent['slack.example']).toContain(link)
  expect(sent['slack.example']).toContain('Open the console')
  expect(sent['teams.example']).toContain(link)
  const { client_url, links } = JSON.parse(sent['pager.example']!)
  expect([client_url, links]).toEqual([link, [{ href: link, text: 'Open the console' }]])
  expect(sent['hook.example']).not.toContain(link)
})

test('not where the console is off', async () => {
  world.relay.credentials.adminKey = undefined
  for (const body of Object.values(await alerted())) expect(body).not.toContain('/console')
})

test('one channel in trouble: to its page, several: to all of them', async () => {
  const about = (names: string[]) => ({
    ...{ alert: 'channels_in_trouble' as const, episode: 1, message: 1, since: 0, reasons: [] },
    names,
  })
  const page = (names: string[]) => problemAlerts.channels_in_trouble.page(about(names), 'prod')
  expect([page(['chat']), page(['chat', 'team'])]).toEqual(['/channels/chat', '/channels'])
  expect((await (await asAdmin(world)).get(`/console${page(['chat'])}`)).status).toBe(200)
})
