// The header of the host's own sign-in: which person it names, and which headers name none.
import { describe, expect, test } from 'vitest'
import { readPrincipal } from '../../functions/identity/principal.ts'
import { annId, bobId, claimsOf, principal, tenant } from '../support/principals.ts'

const signIn = { tenantId: tenant }
const other = tenant.replace('1e6', '2e6')
const base64 = (text: string) => Buffer.from(text).toString('base64')
const name = 'Ann <b>Ops</b>'

describe('a signed-in person', () => {
  test.each([
    ['by the long names of claims', principal(claimsOf(annId)), name],
    ['in capitals', principal(claimsOf(annId.toUpperCase(), tenant.toUpperCase())), name],
    [
      'by the short names',
      principal([
        ['oid', annId],
        ['tid', tenant],
      ]),
      undefined,
    ],
    [
      'without a name, by the address',
      principal([...claimsOf(annId).slice(2)]),
      'ann@contoso.example',
    ],
    ['by both names of a claim', principal([...claimsOf(annId), ['oid', annId]]), name],
    ['with hundreds of groups', principal([...claimsOf(annId), ...groups(300)]), name],
  ])('%s', (_, header, shown) => {
    const read = readPrincipal(signIn, header)
    expect(read).toMatchObject({ outcome: 'signed_in', principal: { tenant, user: annId } })
    expect(read.outcome === 'signed_in' && read.principal.name).toBe(shown)
  })

  test('with the groups that the token names, by either name of the claim', () => {
    const long = 'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups'
    const header = principal([
      ...claimsOf(annId),
      ['groups', 'G-1'],
      [long, 'g-2'],
      ['group', 'g-3'],
    ])
    expect(readPrincipal(signIn, header)).toMatchObject({ principal: { groups: ['g-1', 'g-2'] } })
    expect(readPrincipal(signIn, principal(claimsOf(annId)))).toMatchObject({
      principal: { groups: [] },
    })
  })

  test('any letters in the name', () => {
    const header = principal([['name', 'Zoë 🦊'], ...claimsOf(annId).slice(2)])
    expect(readPrincipal(signIn, header)).toMatchObject({ principal: { name: 'Zoë 🦊' } })
  })
})

describe('nobody', () => {
  test.each<[string, string | undefined, string]>([
    ['no header', undefined, 'absent'],
    ['an empty one', '', 'absent'],
    ['of another tenant', principal(claimsOf(annId, other)), 'other_tenant'],
    ['not base64', '{"auth_typ":"aad"}', 'malformed'],
    [
      'two headers in one',
      `${principal(claimsOf(annId))}, ${principal(claimsOf(bobId))}`,
      'malformed',
    ],
    ['not JSON', base64('auth_typ=aad'), 'malformed'],
    ['not an object', base64('null'), 'malformed'],
    ['cut off', principal(claimsOf(annId)).slice(0, -8), 'malformed'],
    ['huge', principal([...claimsOf(annId), ['x', 'x'.repeat(65_536)]]), 'malformed'],
    [
      'too many claims',
      principal([...claimsOf(annId), ...Array(2_000).fill(['x', ''])]),
      'malformed',
    ],
    ['another provider', principal(claimsOf(annId), { auth_typ: 'google' }), 'malformed'],
    ['no provider', principal(claimsOf(annId), { auth_typ: undefined }), 'malformed'],
    ['no claims', principal([]), 'malformed'],
    ['no user', principal([['tid', tenant]]), 'malformed'],
    ['no tenant', principal([['oid', annId]]), 'malformed'],
    ['two users', principal([...claimsOf(annId), ['oid', bobId]]), 'malformed'],
    ['two tenants', principal([...claimsOf(annId, other), ['tid', tenant]]), 'malformed'],
    ['a user that is not an id', principal(claimsOf('ann@contoso.example')), 'malformed'],
    ['a user with a slash', principal(claimsOf(`${tenant}/${annId}`)), 'malformed'],
    [
      'a claim that is not text',
      principal([
        ['oid', 7 as never],
        ['tid', tenant],
      ]),
      'malformed',
    ],
  ])('%s', (_, header, outcome) => {
    expect(readPrincipal(signIn, header)).toEqual({ outcome })
  })

  test('if the host has no sign-in, whatever the header says', () => {
    const header = principal(claimsOf(annId))
    expect(readPrincipal(undefined, header)).toEqual({ outcome: 'sign_in_is_off' })
  })
})

function groups(count: number): [string, string][] {
  return Array.from({ length: count }, (_, i) => ['groups', `${annId.slice(0, -4)}${1_000 + i}`])
}
