// The programs in docs/automate.md, beside a relay: VMs are drained, and then the event is approved. If
// the drain fails, nothing is decided.
import { spawn } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newFolder } from '../support/folder.ts'
import { Program } from '../support/process.ts'
import { newEvent, reporter } from '../support/reports.ts'
import { freePort, startStage } from '../support/stage.ts'
import { hookSecret } from '../support/world.ts'

test('drains the VMs, then approves; not if the drain fails', async () => {
  const port = await freePort()
  const own = { kind: 'webhook', url: `http://127.0.0.1:${port}/`, secret: hookSecret }
  const routes = [{ match: {}, channels: ['own'] }]
  const stage = await startStage({
    vms: [['web_0']],
    config: () => ({ channels: { own }, routes }),
  })
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
    env: { PATH, FOGHORN_TOKEN: robot.token, DRAIN: drain },
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  onTestFinished(() => void approver.kill())
  let output = ''
  approver.stderr.on('data', (text) => {
    output += text
  })
  const environment = { PORT: String(port), WEBHOOK_SECRET: hookSecret }
  const pass = (entry: object) => approver.stdin.write(`${JSON.stringify(entry)}\n`)
  const receiver = new Program('receiver', 'infra/examples/receiver.ts', environment, pass)
  onTestFinished(async () => void (await receiver.stop()))
  const drained = (vm: string) => expect.poll(() => output, { timeout: 15_000 }).toContain(vm)

  const report = reporter(stage, 'web_0')
  const [kept, approved] = [newEvent(), newEvent()]
  await report([{ ...kept, resources: ['db_0'] }])
  await drained('drained db_0')
  await report([
    { ...kept, resources: ['db_0'] },
    { ...approved, resources: ['web_0'] },
  ])
  await drained('drained web_0')
  const approvals = async ({ eventId }: { eventId: string }) => {
    const event = await ask(`/v1/events/demo/${eventId}`)
    return (event as { approvals: object[] }).approvals
  }
  await expect
    .poll(() => approvals(approved), { timeout: 15_000 })
    .toMatchObject([{ decision: 'approved', how: 'token', who: `${robot.id}/drain robot` }])
  expect(await approvals(kept)).toEqual([])
  expect(output).not.toContain(robot.token)
})
