// Which api-version the client of IMDS asks for: the newest that is answered, and what it does meanwhile.
import { describe, expect, test } from 'vitest'
import { apiVersions } from '../../shared/document.ts'
import { document, pollTimes, setUp, versionOf } from './fake-imds.ts'
import type { Asked } from './world.ts'

const tenMinutesMs = 10 * 60_000

describe('the api-version', () => {
  const knowing = (version: string) => (asked: Asked) =>
    versionOf(asked) === version ? { body: document } : { status: 400 }

  test('falls back to the newest that is answered, and stays there', async () => {
    const { imds, asked, log } = await setUp(knowing('2019-04-01'))
    const polls = await pollTimes(imds, 4)
    expect(polls.map((poll) => (poll.kind === 'failed' ? poll.class : poll.apiVersion))).toEqual([
      'fallback',
      'fallback',
      '2019-04-01',
      '2019-04-01',
    ])
    expect(asked.map(versionOf)).toEqual(['2020-07-01', '2019-08-01', '2019-04-01', '2019-04-01'])
    expect(log.named('imds_version_refused')).toHaveLength(2)
  })

  test('refused all the way down, it starts over, slowly and in silence', async () => {
    const { imds, asked, log } = await setUp(() => ({ status: 400 }))
    const polls = await pollTimes(imds, 2 * apiVersions.length)
    expect(asked.map(versionOf)).toEqual([...apiVersions, ...apiVersions])
    const classes = polls.map((poll) => poll.kind === 'failed' && poll.class)
    expect(classes.slice(0, 6)).toEqual(Array(6).fill('fallback'))
    expect(classes.slice(6)).toEqual(Array(8).fill('absent'))
    expect(log.named('imds_version_refused')).toHaveLength(apiVersions.length)
  })

  test('after a hiccup it is the newest again, some minutes later', async () => {
    const { imds, clock, asked, log } = await setUp((_, i) =>
      i === 0 ? { status: 400 } : { body: document },
    )
    await pollTimes(imds, 2)
    await clock.advance(tenMinutesMs)
    await pollTimes(imds, 2)
    expect(asked.map(versionOf)).toEqual(['2020-07-01', '2019-08-01', '2020-07-01', '2020-07-01'])
    expect(log.named('imds_version_restored')).toHaveLength(1)
  })

  test('looking up again costs one poll in ten minutes where the newest stays unknown', async () => {
    const { imds, clock, asked } = await setUp(knowing('2019-08-01'))
    await pollTimes(imds, 2)
    await clock.advance(tenMinutesMs)
    const polls = await pollTimes(imds, 3)
    expect(asked.slice(2).map(versionOf)).toEqual(['2020-07-01', '2019-08-01', '2019-08-01'])
    expect(polls[0]).toMatchObject({ class: 'fallback' })
  })
})
