// What App Service Authentication says of somebody who signed in, as the relay gets it.
export const tenant = '1e6d2f1c-0a4b-4c57-9b1e-5c2f0d9a7e11'
export const annId = 'aaaaaaaa-0000-4000-8000-000000000001'
export const bobId = 'bbbbbbbb-0000-4000-8000-000000000002'
/** As `approvers` lists her. */
export const ann = `entra:${tenant}/${annId}`
/** As the record names her. */
export const annInRecord = { how: 'entra', who: `${tenant}/${annId}` }

type Claims = [typ: string, val: string][]

const long = 'http://schemas.microsoft.com/identity/claims'

export const claimsOf = (user: string, of = tenant): Claims => [
  ['aud', '11111111-0000-4000-8000-000000000009'],
  ['name', 'Ann <b>Ops</b>'],
  [`${long}/objectidentifier`, user],
  ['preferred_username', 'ann@contoso.example'],
  [`${long}/tenantid`, of],
]

export function principal(claims: Claims, more: object = {}): string {
  const body = {
    auth_typ: 'aad',
    claims: claims.map(([typ, val]) => ({ typ, val })),
    name_typ: 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
    role_typ: 'http://schemas.microsoft.com/ws/2008/06/identity/claims/role',
    ...more,
  }
  return Buffer.from(JSON.stringify(body)).toString('base64')
}

/** Headers of a form that Ann, or another, sends from our own page. */
export function signedIn(user = annId, of = tenant): Record<string, string> {
  return {
    'x-ms-client-principal': principal(claimsOf(user, of)),
    'sec-fetch-site': 'same-origin',
  }
}
