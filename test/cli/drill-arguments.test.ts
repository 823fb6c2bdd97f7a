// The arguments of `npm run drill --`, and the errors about wrong ones.
import { describe, expect, test } from 'vitest'
import { drillHelp, inOptions, readDrillArguments } from '../../functions/cli/drill-arguments.ts'
import {
  drillSchema,
  maxImpactSeconds,
  maxNoticeSeconds,
} from '../../functions/use-cases/run-drill.ts'

const least = ['--fleet', 'prod', '--type', 'reboot']
const read = (...words: string[]) => {
  const given = readDrillArguments([...least, ...words])
  if (given === 'help') throw new Error('help')
  return JSON.parse(JSON.stringify(given))
}

test('fleet and type are enough; the relay fills in the rest', () => {
  expect(read()).toEqual({ request: { fleet: 'prod', type: 'Reboot' } })
})

test('every option becomes a field of the request', () => {
  const words = [
    ...['--resource', 'web_0, web_1', '--resource', 'db_0', '--notice', '30', '--impact', '5'],
    ...['--change-after', '10', '--source', 'User', '--duration', '9', '--description', 'Try'],
    ...['--tag', 'role=web', '--tag', 'query=a=b', '--scale-set', 'web', '--resource-group', 'rg'],
    ...['--config', 'own.json'],
  ]
  const { request, config } = read(...words)
  expect(request).toEqual({
    ...{ fleet: 'prod', type: 'Reboot', resources: ['web_0', 'web_1', 'db_0'] },
    ...{ noticeSeconds: 30, impactSeconds: 5, changeAfterSeconds: 10, source: 'User' },
    ...{ durationSeconds: 9, description: 'Try', scaleSet: 'web', resourceGroup: 'rg' },
    tags: { role: 'web', query: 'a=b' },
  })
  expect(config).toBe('own.json')
  const vm = { resourceGroup: 'rg', scaleSet: 'web', tags: request.tags }
  expect(drillSchema.parse(request).vms).toEqual([
    { vm: 'web_0', ...vm },
    { vm: 'web_1', ...vm },
    { vm: 'db_0', ...vm },
  ])
})

test('help names every option, and the limits that the relay has', () => {
  expect(readDrillArguments(['--help'])).toBe('help')
  for (const limit of [maxNoticeSeconds, maxImpactSeconds]) expect(drillHelp).toContain(`${limit}`)
  for (const line of drillHelp.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
})

describe('errors say what to write', () => {
  test.each<[words: string[], says: RegExp]>([
    [['--type', 'Reboot'], /--fleet is missing; write --fleet/],
    [['--fleet', 'prod'], /--type is missing; write --type and one of Freeze, Reboot/],
    [['--fleet', 'prod', '--type', 'Rebot'], /no "Rebot"; write Freeze, .*did you mean "Reboot"/],
    [['--fleet'], /--fleet needs a value/],
    [['--flet', 'prod'], /unknown option --flet; did you mean --fleet/],
    [[...least, 'prod'], /"prod" belongs to no option/],
    [[...least, '--notice', 'soon'], /--notice is "soon"; write a whole number of seconds/],
    [[...least, '--impact', '1.5'], /--impact is "1.5"/],
    [[...least, '--notice', ' '], /--notice is " "/],
  ])('%j', (words, says) => {
    expect(() => readDrillArguments(words)).toThrow(says)
  })
})

test('mistakes that the relay finds name the options', () => {
  const lines = [
    'noticeSeconds: write a whole number of seconds from 0 to 3600 (found 5000)',
    'changeAfterSeconds: write less than noticeSeconds: an event cannot change after it started',
    'resources[0]: write at least 1 character (found "")',
    'tags.role: write text in quotes',
    'source: write one of "Platform", "User" (found "Me")',
  ]
  expect(inOptions(lines.join('\n')).split('\n')).toEqual([
    '--notice: write a whole number of seconds from 0 to 3600 (found 5000)',
    '--change-after: write less than --notice: an event cannot change after it started',
    '--resource[0]: write at least 1 character (found "")',
    '--tag.role: write text in quotes',
    '--source: write one of "Platform", "User" (found "Me")',
  ])
})
