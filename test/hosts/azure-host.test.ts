// The tests of this host use a replacement for Azure Functions. It must behave like Azure.
import { describe, expect, test } from 'vitest'
import { Program } from '../support/process.ts'
import { get, host, lineOf, printed } from './azure-running.ts'

describe('the replacement', () => {
  test('knows what the app registered', () => {
    const triggers = host.functions.map(({ name, bindings }) => {
      return [name, Object.values(bindings).map(({ type }) => type)]
    })
    expect(triggers).toEqual([
      ['relay', ['httpTrigger', 'http']],
      ['wake', ['queueTrigger']],
      ['sweep', ['timerTrigger']],
    ])
  })

  test.each([
    ['{"fleet":"prod"}', '{"fleet":"prod"}'],
    ['12', '12'],
    ['plain words', '"plain words"'],
  ])('passes the queue text %s on as %s, like Azure', async (message, arrived) => {
    const known = host.lines.length
    await host.invokeQueue('wake', message, { dequeueCount: 3 })
    const line = host.lines.slice(known).find(({ category }) => category === 'user')
    expect(JSON.parse(line!.message)).toMatchObject({ message: arrived, dequeueCount: 3 })
  })

  test('rejects if a function fails', async () => {
    await expect(host.invokeQueue('wake', 'poison')).rejects.toThrow('this one never works')
    expect(host.failures.splice(0)).toMatchObject([{ functionName: 'wake' }])
  })

  test('runs a timer', async () => {
    await host.invokeTimer('sweep', { isPastDue: true })
    expect(lineOf('swept')?.message).toContain('"isPastDue":true')
  })

  test('runs the hooks around an invocation', async () => {
    printed.splice(0)
    await host.invokeTimer('sweep')
    const events = printed.map((line) => JSON.parse(line))
    expect(events).toMatchObject([
      { event: 'before', functionName: 'sweep' },
      { event: 'after', failed: false },
    ])
  })

  test('reserves /admin and /runtime, like Azure', async () => {
    expect((await get('/admin/functions')).status).toBe(404)
    expect((await get('/runtime/webhooks')).status).toBe(404)
  })

  test('starts without the settings of an app, and has them before it loads one', async () => {
    const program = new Program('app', 'test/support/functions-main.ts', {
      FUNCTIONS_ENTRY: 'test/hosts/azure-sample.ts',
      SAMPLE_SETTING: 'of the app',
    })
    const { settings } = await program.waitFor('placeholder_started')
    expect(settings).toEqual(expect.arrayContaining(['WEBSITE_PLACEHOLDER_MODE']))
    expect(settings).not.toContain('SAMPLE_SETTING')
    const { port } = await program.waitFor('functions_host_started')
    const response = await fetch(`http://127.0.0.1:${port}/settings`)
    expect(await response.json()).toEqual({ own: 'of the app', directory: import.meta.dirname })
    await program.stop()
  })

  test('runs an app in a process of its own', async () => {
    const environment = { FUNCTIONS_ENTRY: 'test/hosts/azure-sample.ts' }
    const program = new Program('app', 'test/support/functions-main.ts', environment)
    const { port } = await program.waitFor('functions_host_started')
    const url = `http://127.0.0.1:${port}`
    expect((await fetch(`${url}/cookies`)).headers.getSetCookie()).toHaveLength(2)
    const body = JSON.stringify({ input: 'poison' })
    const run = await fetch(`${url}/admin/functions/wake`, { method: 'POST', body })
    expect(run.status).toBe(500)
    await program.waitFor('woken', ({ message }) => message === '"poison"')
    expect(await program.stop()).toEqual({ code: 0, signal: null })
    await program.ended
    expect(program.output).toContain('"app_ended"')
  })
})
