import { expect, test } from 'vitest'
import { accessOfPerson, hasViewers } from '../../../functions/core/rules/access.ts'

const [tenant, user, group] = ['t-1', 'u-1', 'g-1']
const person = { tenant, user, groups: [group, 'g-2'], name: 'Ann' }
const all = { by: 'entra', who: 't-1/u-1', name: 'Ann' }

test.each([
  ['nobody is listed', {}, undefined],
  ['another person is', { viewers: ['entra:t-1/u-2', 'entra-group:t-1/g-3'] }, undefined],
  ['the same ids of another tenant', { viewers: ['entra:t-2/u-1'] }, undefined],
  ["a group with the person's id", { viewers: ['entra-group:t-1/u-1'] }, undefined],
  ['the person', { viewers: ['entra:t-1/u-1'] }, all],
  ['one of their groups', { viewers: ['entra-group:t-1/g-2'] }, all],
  ['for one fleet', { fleets: { b: ['entra:t-1/u-1'] } }, { ...all, fleets: ['b'] }],
  [
    'for two fleets, by name and by group',
    { fleets: { a: ['entra-group:t-1/g-1'], b: ['entra:t-1/u-1'], c: ['entra:t-1/u-2'] } },
    { ...all, fleets: ['a', 'b'] },
  ],
  [
    'for all, and for one again',
    { viewers: ['entra:t-1/u-1'], fleets: { b: ['entra:t-1/u-1'] } },
    all,
  ],
] as [string, { viewers?: string[]; fleets?: Record<string, string[]> }, unknown][])(
  'who may see what: %s',
  (_, { viewers, fleets = {} }, expected) => {
    const of = Object.fromEntries(
      ['a', 'b', 'c'].map((name) => [name, fleets[name] ? { viewers: fleets[name] } : {}]),
    )
    const config = { fleets: of, ...(viewers && { viewers }) }
    expect(accessOfPerson(config, person)).toEqual(expected)
    expect(hasViewers(config)).toBe(viewers !== undefined || Object.keys(fleets).length > 0)
  },
)
