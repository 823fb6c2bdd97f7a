// The runner behind its socket: what the beacon learns, and what strangers cannot do.
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../../beacon/clock.ts'
import { checkHooks } from '../../../beacon/hooks/check.ts'
import { openLink, runHooks } from '../../../beacon/hooks/command.ts'
import { SocketLink } from '../../../beacon/hooks/link.ts'
import { maxLineBytes } from '../../../beacon/hooks/protocol.ts'
import { serveRunner } from '../../../beacon/hooks/server.ts'
import type { Hook } from '../../../shared/report.ts'
import { createTestLog } from '../world.ts'
import { anOrder, startRunner, waitLimit } from './folder.ts'

async function serve(programs: Partial<Record<Hook, string>>) {
  const started = startRunner(programs)
  const path = join(started.directory, 'run', 'hooks.sock')
  const close = await serveRunner(path, started.runner, started.log)
  onTestFinished(close)
  return { ...started, path, close }
}

function linkTo(path: string) {
  const log = createTestLog()
  const link = new SocketLink({ path, log, clock: systemClock, random: () => 0 })
  const stopping = new AbortController()
  let changes = 0
  const running = link.loop(() => {
    changes += 1
  }, stopping.signal)
  const stop = async () => {
    stopping.abort()
    await running
  }
  onTestFinished(stop)
  const current = () => vi.waitFor(() => expect(link.isCurrent()).toBe(true), waitLimit)
  return { link, log, stop, current, changes: () => changes }
}

/** Sends text as another program would. Resolves to what the runner said until it closed. */
function say(path: string, text: string): Promise<string> {
  return new Promise((resolve) => {
    let said = ''
    const socket = connect(path, () => socket.write(text))
    socket.on('data', (chunk) => {
      said += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(said))
    onTestFinished(() => void socket.destroy())
  })
}

describe('on Windows, where every user of the VM can make the pipe', () => {
  const open = async (platform: string, isWithin: boolean) => {
    const { path, directory, log } = await serve({ prepare: 'echo done' })
    const settings = { folder: directory, socket: path, leadMs: 0, eventTypes: undefined }
    const link = await openLink(settings, isWithin, {}, log, platform)
    const stopping = new AbortController()
    const running = link.loop(() => {}, stopping.signal)
    onTestFinished(async () => {
      stopping.abort()
      await running
    })
    return link
  }

  test('a beacon believes no runner there', async () => {
    const believing = await open('linux', false)
    const link = await open('win32', false)
    await vi.waitFor(() => expect(believing.status()).toBeDefined(), waitLimit)
    expect(link.status()).toBeUndefined()
    link.ask({ ask: 'run', order: anOrder() })
    expect(link.isCurrent()).toBe(false)
  })

  test('a beacon with hooks starts even if somebody else holds the pipe', async () => {
    await expect(open('linux', true)).rejects.toMatchObject({ code: 'hook_runner_in_use' })
    expect((await open('win32', true)).status()).toMatchObject({ restore: { state: 'absent' } })
  })

  test('the command for a runner alone is refused, as no beacon would ask it', async () => {
    expect(await runHooks({}, AbortSignal.abort(), 'programs', 'win32')).toBe(2)
  })
})

describe('the link of the beacon', () => {
  test('sees which hooks there are, and how a run goes', async () => {
    const { path } = await serve({ prepare: 'echo done' })
    const { link, current } = linkTo(path)
    await current()
    expect(link.status()).toEqual({
      ...{ prepare: { state: 'ready' }, restore: { state: 'absent' }, ended: [] },
    })
    link.ask({ ask: 'run', order: anOrder() })
    expect(link.isCurrent()).toBe(false)
    await current()
    await vi.waitFor(() => expect(link.status()?.ended).toHaveLength(1), waitLimit)
    expect(link.status()).toMatchObject({ ended: [{ run: 'run-1', note: 'done' }] })
    expect(link.status()?.running).toBeUndefined()
  })

  test('says once that there is no runner, and finds one that starts later', async () => {
    const { directory, runner, log: runnerLog } = startRunner({ prepare: 'true' })
    const path = join(directory, 'hooks.sock')
    const { link, log, current } = linkTo(path)
    await vi.waitFor(() => expect(log.named('hook_runner_absent')).toHaveLength(1), waitLimit)
    expect(link.status()).toBeUndefined()
    link.ask({ ask: 'run', order: anOrder() })
    const close = await serveRunner(path, runner, runnerLog)
    onTestFinished(close)
    await current()
    expect(link.status()).toMatchObject({ prepare: { state: 'ready' }, ended: [] })
    expect(log.entries.map(({ event }) => event)).toEqual([
      'hook_runner_absent',
      'hook_runner_reached',
    ])
  })

  test('keeps the last status while the runner restarts', async () => {
    const { path, runner, log, close } = await serve({ prepare: 'true' })
    const { link, current, log: linkLog } = linkTo(path)
    await current()
    await close()
    await vi.waitFor(() => expect(linkLog.named('hook_runner_lost')).toHaveLength(1), waitLimit)
    expect(link.isCurrent()).toBe(false)
    expect(link.status()).toMatchObject({ prepare: { state: 'ready' } })
    onTestFinished(await serveRunner(path, runner, log))
    await current()
  })
})

describe('the socket', () => {
  test('is for the user and the group of the runner', async () => {
    const { path } = await serve({})
    expect(statSync(path).mode & 0o777).toBe(0o660)
  })

  test.each<[string, unknown]>([
    ['text', 'run'],
    ['another question', { ask: 'stop' }],
    ['a program', { ask: 'run', order: { ...anOrder(), hook: '/bin/sh' } }],
    ['a limit of weeks', { ask: 'run', order: { ...anOrder(), limitMs: 1e10 } }],
    ['an event that is none', { ask: 'run', order: { ...anOrder(), event: {} } }],
  ])('refuses %s, and hangs up', async (_name, question) => {
    const { path, log, noted } = await serve({ prepare: 'echo ran > $NOTES' })
    expect(await say(path, `${JSON.stringify(question)}\n`)).toBe('')
    expect(log.named('hook_question_refused')).toHaveLength(1)
    expect(noted()).toEqual([])
  })

  test('passes no path, argument or variable on', async () => {
    const { path, ended, noted } = await serve({ prepare: 'echo "$# $0 $EVIL" > $NOTES' })
    const order = { ...anOrder(), file: '/bin/evil', args: ['x'], environment: { EVIL: 'x' } }
    const said = say(path, `${JSON.stringify({ ask: 'run', order, cwd: '/' })}\n`)
    await ended()
    expect(noted()).toEqual([expect.stringMatching(/^0 .*\/hooks\/prepare $/)])
    void said
  })

  test('hangs up on a line without end', async () => {
    const { path } = await serve({})
    expect(await say(path, 'x'.repeat(maxLineBytes + 100_000))).toBe('')
  })

  test('is never taken from a runner that works, nor made in place of a file', async () => {
    const { path, runner, log } = await serve({})
    await expect(serveRunner(path, runner, log)).rejects.toMatchObject({
      code: 'hook_runner_in_use',
    })
    const file = `${path}.file`
    writeFileSync(file, 'precious')
    await expect(serveRunner(file, runner, log)).rejects.toMatchObject({
      code: 'hook_socket_unusable',
    })
    expect(readFileSync(file, 'utf8')).toBe('precious')
  })
})

test('of two that start at the same moment, one runs', async () => {
  const { path, runner, log } = await serve({})
  const both = await Promise.allSettled([1, 2].map(() => serveRunner(`${path}.two`, runner, log)))
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  for (const one of both) if (one.status === 'fulfilled') await one.value()
})

describe('the line of check', () => {
  const check = (folder: string, socket: string) => checkHooks({ folder, socket })

  test('is ok where hooks would run, and where there are none', async () => {
    const { path, folder } = await serve({ prepare: 'true', restore: 'true' })
    expect(await check(folder, path)).toMatchObject({ ok: true })
    expect(await check(`${folder}-none`, `${path}-none`)).toMatchObject({ ok: true })
    const none = await serve({})
    expect(await check(none.folder, none.path)).toMatchObject({ ok: true })
  })

  test('says what to do where they would not', async () => {
    const { path, folder } = await serve({ prepare: 'true' })
    expect(await check(folder, `${path}-none`)).toMatchObject({
      ...{ ok: false, says: expect.stringContaining('foghorn-hooks') },
    })
    chmodSync(join(folder, 'prepare'), 0o777)
    expect(await check(folder, path)).toMatchObject({
      ...{ ok: false, says: expect.stringContaining('chmod go-w') },
    })
    const half = await serve({ restore: 'true' })
    expect(await check(half.folder, half.path)).toMatchObject({ ok: false })
  })
})
