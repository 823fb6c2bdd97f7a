// How the client of IMDS reads the description of its VM.
import { describe, expect, test } from 'vitest'
import { vmSchema } from '../../shared/report.ts'
import { forever, type Reply, setUp } from './fake-imds.ts'

describe('the identity', () => {
  const compute = {
    name: 'web_18',
    vmId: 'id-1',
    resourceGroupName: 'shop',
    subscriptionId: 'sub',
    vmScaleSetName: 'web',
    placementGroupId: 'pg',
    location: 'westeurope',
    zone: '',
    tagsList: [
      { name: 'tier', value: 'front' },
      { name: '__proto__', value: 'x' },
      { name: 7 },
      'odd',
    ],
  }

  test('is read from its own api-version', async () => {
    const { imds, asked } = await setUp(() => ({ body: JSON.stringify({ compute }) }))
    expect(await imds.identify(forever)).toEqual({
      kind: 'vm',
      vm: {
        name: 'web_18',
        vmId: 'id-1',
        resourceGroup: 'shop',
        subscriptionId: 'sub',
        scaleSet: 'web',
        placementGroup: 'pg',
        location: 'westeurope',
        zone: '',
        tags: Object.fromEntries([
          ['tier', 'front'],
          ['__proto__', 'x'],
        ]),
      },
    })
    expect(asked[0]?.url).toBe('/metadata/instance?api-version=2021-02-01')
    expect(asked[0]?.headers.metadata).toBe('true')
  })

  test.each(['name', 'vmId', 'resourceGroupName', 'tagsList'])(
    'without %s is none: the next answer may be whole',
    async (key) => {
      const { [key as 'name']: _, ...partial } = compute
      const body = JSON.stringify({ compute: partial })
      const { imds } = await setUp(() => ({ body }))
      const reason = `the instance document has no compute.${key}`
      expect(await imds.identify(forever)).toMatchObject({ kind: 'failed', reason })
    },
  )

  test('has the first 50 tags that can be read, and long texts cut', async () => {
    const long = 'x'.repeat(257)
    const tagsList = [
      ...[{ name: 7 }, { name: long, value: long }],
      ...Array.from({ length: 60 }, (_, i) => ({ name: `tag${i}`, value: `${i}` })),
    ]
    const { imds } = await setUp(() => ({
      body: JSON.stringify({ compute: { ...compute, tagsList } }),
    }))
    const answer = await imds.identify(forever)
    if (answer.kind !== 'vm') throw new Error(answer.reason)
    const shortened = `${'x'.repeat(255)}…`
    const kept = Array.from({ length: 49 }, (_, i) => [`tag${i}`, `${i}`])
    expect(Object.entries(answer.vm.tags)).toEqual([[shortened, shortened], ...kept])
    expect(vmSchema.parse(answer.vm)).toEqual(answer.vm)
  })

  test.each<[string, Reply]>([
    ['a refusal', { status: 503 }],
    ['an empty body', {}],
    ['no compute', { body: '{}' }],
    ['no name', { body: '{"compute":{"name":""}}' }],
  ])('has failed with %s', async (_, reply) => {
    const { imds } = await setUp(() => reply)
    expect(await imds.identify(forever)).toMatchObject({ kind: 'failed', class: 'transient' })
  })
})
