// The programs in docs/automate.md, beside a relay: VMs are drained, and then the event is approved. If
// the drain fails, nothing is decided.
import { spawn } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newFolder } from '../support/folder.ts'
import { newEvent, reporter } from '../support/reports.ts'
import { startStage } from '../support/stage.ts'

test('drains the VMs, then approves, also after the relay was away; not if the drain fails', async () => {
  const stage = await startStage({ vms: [['web_0']] })
  onTestFinished(() => stage.stop())
  await stage.startRelay()
  const ask = async (path: string, body?: object) => {
    const headers = { authorization: `Bearer ${stage.secrets.adminKey}` }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await fetch(`${stage.relayUrl}${path}`, body ? init : { headers })).json()
  }
  const robot = (await ask('/v1/tokens', { name: 'drain robot', scopes: ['decide'] })) as {
    id: string
    token: string
  }

  const folder = newFolder('automation')
  const drain = join(folder, 'drain')
  writeFileSync(drain, '#!/bin/sh\necho "drained $1"\n[ "$1" = web_0 ]\n')
  chmodSync(drain, 0o755)
  const { PATH = '' } = process.env
  const approver = spawn(process.execPath, ['infra/examples/approve-drained.ts'], {
    env: { PATH, FOGHORN_URL: stage.relayUrl, FOGHORN_TOKEN: robot.token, DRAIN: drain },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void approver.kill())
  let output = ''
  approver.stderr.on('data', (text) => {
    output += text
  })
  const said = (text: string) => expect.poll(() => output, { timeout: 30_000 }).toContain(text)

  const report = reporter(stage, 'web_0')
  const [kept, approved] = [newEvent(), newEvent()]
  await report([{ ...kept, resources: ['db_0'] }])
  await said('drained db_0')
  await stage.relay!.stop()
  await said('fetch failed')
  await stage.startRelay()
  await report([
    { ...kept, resources: ['db_0'] },
    { ...approved, resources: ['web_0'] },
  ])
  await said('drained web_0')
  const approvals = async ({ eventId }: { eventId: string }) => {
    const event = await ask(`/v1/events/demo/${eventId}`)
    return (event as { approvals: object[] }).approvals
  }
  await expect
    .poll(() => approvals(approved), { timeout: 15_000 })
    .toMatchObject([{ decision: 'approved', how: 'token', who: `${robot.id}/drain robot` }])
  expect(await approvals(kept)).toEqual([])
  expect(output.match(/drained db_0/g)).toHaveLength(1)
  expect(output).not.toContain(robot.token)
})
