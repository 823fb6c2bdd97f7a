// The relay's log in Azure Functions: which line goes to which invocation's logger, and which is
// printed.
import { describe, expect, test } from 'vitest'
import { createAzureLog } from '../../functions/host/azure/log.ts'
import { categoryOf, isKept, printedLine } from '../support/functions-log.ts'
import { get, host, lineOf, open, printed, waitUntil } from './azure-running.ts'

const entriesOf = (name: string) =>
  host.lines
    .filter(({ category, message }) => category === 'user' && message.includes(`"name":"${name}"`))
    .map(({ level, invocationId, message }) => ({ level, invocationId, ...parse(message) }))

function parse(message: string): { event: string; logged: string } {
  const { event, invocationId } = JSON.parse(message)
  return { event, logged: invocationId }
}

describe('the log', () => {
  test('of two requests at once tells them apart, at the level of each line', async () => {
    const responses = ['left', 'right'].map((name) => get(`/logs/${name}`))
    const begun = () => entriesOf('left').length + entriesOf('right').length === 2 || undefined
    await waitUntil(begun, 'begin both')
    await open('right')
    await responses[1]
    await open('left')
    await responses[0]
    const [left, right] = [entriesOf('left'), entriesOf('right')]
    for (const lines of [left, right]) {
      const id = lines[0]!.invocationId
      expect(id).toMatch(/^[0-9a-f-]{36}$/)
      expect(lines.map(({ event, level }) => [event, level])).toEqual([
        ['began', 'information'],
        ['ended', 'warning'],
        ['failed', 'error'],
        ['looked', 'debug'],
      ])
      expect(lines.filter((line) => line.invocationId !== id || line.logged !== id)).toEqual([])
    }
    expect(left[0]!.invocationId).not.toBe(right[0]!.invocationId)
  })

  test('shows no secret', async () => {
    await get('/throws')
    expect(lineOf('request_failed')).toBeDefined()
    expect(JSON.stringify([host.lines, printed])).not.toContain('a-secret-of-the-app')
  })

  test('outside an invocation is printed', () => {
    const entries = printed.map((line) => JSON.parse(line))
    expect(entries).toContainEqual(expect.objectContaining({ event: 'app_started' }))
    expect(lineOf('app_started')).toBeUndefined()
  })

  test('of work that outlives its request is printed, with its invocation', async () => {
    await (await get('/outlived')).text()
    await open('outlived')
    const line = printed.find((one) => one.includes('"outlived"'))
    expect(JSON.parse(line ?? '{}').invocationId).toMatch(/^[0-9a-f-]{36}$/)
    // the library warns of a late line of an invocation's own logger
    expect(host.lines.filter(({ category }) => category === 'system')).not.toContainEqual(
      expect.objectContaining({ level: 'warning' }),
    )
  })
})

describe('Application Insights', () => {
  test('gets the lines of an invocation, and those that come after it returned', async () => {
    await get('/throws')
    const during = lineOf('request_failed')!
    expect(isKept({ category: categoryOf(during), level: during.level })).toBe(true)
    await (await get('/outlived')).text()
    await open('outlived')
    expect(printed.some((line) => line.includes('"outlived"'))).toBe(true)
    expect(isKept(printedLine)).toBe(true)
  })

  test("gets a sign of life from the timer, whatever the level of the relay's log", () => {
    expect(isKept({ category: 'Function.sweep', level: 'information' })).toBe(true)
  })

  test.each(['Function.relay', 'Microsoft.AspNetCore.Hosting.Diagnostics', 'Host.Results'])(
    'gets no line of %s at Information, because it may contain the URL of a request',
    (category) => {
      expect(isKept({ category, level: 'information' })).toBe(false)
    },
  )

  test('is not flooded: lines below the level of the log are not printed either', () => {
    const lines: string[] = []
    const write = (line: string) => void lines.push(line)
    const { log } = createAzureLog({ write, now: Date.now, level: 'info' })
    log.debug('looked')
    log.info('delivered')
    expect(lines.map((line) => JSON.parse(line).event)).toEqual(['delivered'])
  })
})
