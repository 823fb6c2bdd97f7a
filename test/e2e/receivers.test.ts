// The receivers in docs/webhooks.md, run beside a relay: each prints a body that the relay signed,
// once, and rejects everything else.
import { spawnSync } from 'node:child_process'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sign } from '../../shared/signature.ts'
import { Program } from '../support/process.ts'
import { newEvent, reporter } from '../support/reports.ts'
import { freePort, startStage } from '../support/stage.ts'
import { hookSecret, prodKey } from '../support/world.ts'

const hasPython = spawnSync('python3', ['--version']).status === 0
const receivers = {
  'receiver.ts': [process.execPath, 'infra/examples/receiver.ts'],
  'receiver.py': ['python3', 'infra/examples/receiver.py'],
}

interface Receiver {
  url: string
  /** What it printed. */
  printed: Program['entries']
  nextPrinted(known: number): Promise<void>
}

async function start(name: keyof typeof receivers): Promise<Receiver> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const environment = { PORT: String(port), WEBHOOK_SECRET: hookSecret }
  const program = new Program(name, receivers[name], environment)
  onTestFinished(async () => void (await program.stop()))
  const deadline = Date.now() + 15_000
  while (!(await fetch(url).catch(() => undefined))) {
    if (!program.running || Date.now() > deadline) throw new Error(program.output)
    await setImmediate()
  }
  const nextPrinted = (known: number) => program.somethingHappens(known)
  return { url, printed: program.entries, nextPrinted }
}

const body = (id: string) => JSON.stringify({ id, data: { eventId: id } })

/** The status of the answer. `seconds`: the time of the signature, from now. */
async function post(
  { url }: Receiver,
  id: string,
  { secrets = [hookSecret], seconds = 0, text = body(id), changes = {} } = {},
): Promise<number> {
  const headers = await sign(secrets, id, Date.now() + seconds * 1_000, body(id))
  const init = { method: 'POST', body: text, headers: { ...headers, ...changes } }
  return (await fetch(url, init)).status
}

describe.each(Object.keys(receivers) as (keyof typeof receivers)[])('%s', (name) => {
  test.skipIf(name.endsWith('.py') && !hasPython)('prints what a relay sends, once', async () => {
    const receiver = await start(name)
    const channel = { kind: 'webhook', url: receiver.url, secret: hookSecret }
    const config = () => ({
      channels: { own: channel },
      routes: [{ match: {}, channels: ['own'] }],
    })
    const stage = await startStage({ vms: [['web_0']], config })
    onTestFinished(() => stage.stop())
    await stage.startRelay()
    const event = newEvent()
    expect((await reporter(stage, 'web_0')([event])).status).toBe(200)
    if (receiver.printed.length === 0) await receiver.nextPrinted(0)
    expect(receiver.printed).toMatchObject([{ moment: 'scheduled', eventId: event.eventId }])

    expect(await post(receiver, 'again')).toBe(204)
    expect(await post(receiver, 'again')).toBe(204)
    expect(await post(receiver, 'while-replaced', { secrets: [prodKey, hookSecret] })).toBe(204)
    expect(await post(receiver, 'wrong-key', { secrets: [prodKey] })).toBe(401)
    expect(await post(receiver, 'tampered', { text: body('other') })).toBe(401)
    for (const seconds of [-310, 310]) expect(await post(receiver, 'late', { seconds })).toBe(401)
    for (const odd of ['', 'v1,', 'v1,\u00e9', 'v2,x v1,x']) {
      const changes = { 'webhook-signature': odd }
      expect(await post(receiver, 'odd', { changes }), odd).toBe(401)
    }
    expect(await post(receiver, 'undated', { changes: { 'webhook-timestamp': 'x' } })).toBe(401)
    expect(await post(receiver, 'large', { text: ' '.repeat(20_001) })).toBeGreaterThan(400)
    expect(await post(receiver, 'last')).toBe(204)
    while (receiver.printed.at(-1)?.eventId !== 'last') {
      await receiver.nextPrinted(receiver.printed.length)
    }
    const ids = receiver.printed.slice(1).map(({ eventId }) => eventId)
    expect(ids).toEqual(['again', 'while-replaced', 'last'])
  })
})
