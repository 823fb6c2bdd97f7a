// The arguments of `npm run drill --`, and the errors about wrong ones.
import { describe, expect, test } from 'vitest'
import { buildRequest, drill, inOptions } from '../../functions/cli/drill.ts'
import {
  drillSchema,
  maxImpactSeconds,
  maxNoticeSeconds,
} from '../../functions/use-cases/run-drill.ts'
import { refusalOf } from '../support/command.ts'

const least = { fleet: 'prod', type: 'reboot' }
const read = (more: object = {}) => JSON.parse(JSON.stringify(buildRequest({ ...least, ...more })))

test('fleet and type are enough; the relay fills in the rest', () => {
  expect(read()).toEqual({ fleet: 'prod', type: 'Reboot' })
})

test('every option becomes a field of the request', () => {
  const request = read({
    ...{ resource: ['web_0, web_1', 'db_0'], notice: '30', impact: '5', 'change-after': '10' },
    ...{ source: 'User', duration: '9', description: 'Try', tag: ['role=web', 'query=a=b'] },
    ...{ 'scale-set': 'web', 'resource-group': 'rg' },
  })
  expect(request).toEqual({
    ...{ fleet: 'prod', type: 'Reboot', resources: ['web_0', 'web_1', 'db_0'] },
    ...{ noticeSeconds: 30, impactSeconds: 5, changeAfterSeconds: 10, source: 'User' },
    ...{ durationSeconds: 9, description: 'Try', scaleSet: 'web', resourceGroup: 'rg' },
    tags: { role: 'web', query: 'a=b' },
  })
  const vm = { resourceGroup: 'rg', scaleSet: 'web', tags: request.tags }
  expect(drillSchema.parse(request).vms).toEqual([
    { vm: 'web_0', ...vm },
    { vm: 'web_1', ...vm },
    { vm: 'db_0', ...vm },
  ])
})

test('help names the limits that the relay has', () => {
  for (const most of [maxNoticeSeconds, maxImpactSeconds]) expect(drill.about).toContain(`${most}`)
})

describe('errors say what to write', () => {
  const given = ['--fleet', 'prod', '--type', 'Reboot']
  test.each<[words: string[], says: RegExp]>([
    [['--type', 'Reboot'], /--fleet is missing; write --fleet/],
    [['--fleet', 'prod'], /--type is missing; write --type and one of Freeze, Reboot/],
    [['--fleet', 'prod', '--type', 'Rebot'], /no "Rebot"; write Freeze, .*did you mean "Reboot"/],
    [[...given, 'prod'], /"prod" is one word too many/],
    [[...given, '--notice', 'soon'], /--notice is "soon"; write a whole number of seconds/],
    [[...given, '--impact', '1.5'], /--impact is "1.5"/],
    [[...given, '--notice', ' '], /--notice is " "/],
  ])('%j', async (words, says) => {
    expect(await refusalOf(drill, words)).toMatch(says)
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
