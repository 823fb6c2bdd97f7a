// What the claims of a genuine token prove, as tables: each wrong claim, each kind of resource,
// cases and allow-lists. Signatures play no part here.
import { describe, expect, test } from 'vitest'
import type { Entra } from '../../functions/core/rules/config.ts'
import {
  type Claims,
  judgeClaims,
  parseResource,
  proves,
} from '../../functions/identity/identity.ts'
import { type Vm, vmSchema } from '../../shared/report.ts'

const tenant = '11111111-aaaa-4aaa-8aaa-111111111111'
const subscription = '22222222-bbbb-4bbb-8bbb-222222222222'
const now = Date.UTC(2026, 10, 21, 12)
const seconds = now / 1000

const entra: Entra = {
  tenantId: tenant,
  audience: ['api://foghorn', '33333333-cccc-4ccc-8ccc-333333333333'],
  subscriptions: [subscription],
  authority: 'https://login.microsoftonline.com',
}

const group = `/subscriptions/${subscription}/resourceGroups/rg-web`
const compute = `${group}/providers/Microsoft.Compute`
const vmId = `${compute}/virtualMachines/web_0`
const instanceId = `${compute}/virtualMachineScaleSets/web/virtualMachines/0`
const setId = `${compute}/virtualMachineScaleSets/web`
const assignedId = `${group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/beacons`

const claims: Claims = {
  iss: `https://sts.windows.net/${tenant}/`,
  aud: 'api://foghorn',
  tid: tenant,
  exp: seconds + 3_600,
  nbf: seconds - 60,
  xms_az_rid: vmId,
  xms_mirid: vmId,
}

function vm(changes: Partial<Vm> = {}): Vm {
  const place = { subscriptionId: subscription, resourceGroup: 'rg-web', scaleSet: 'web' }
  return vmSchema.parse({ name: 'web_0', vmId: 'anything', ...place, ...changes })
}

/** `accepted`, or the reason for the refusal. */
function judged(changes: Record<string, unknown>, at = now): string {
  const outcome = judgeClaims({ ...claims, ...changes }, entra, at)
  return outcome.outcome === 'accepted' ? 'accepted' : outcome.reason
}

describe('a genuine token', () => {
  test.each<[string, Record<string, unknown>]>([
    ['of version 1', {}],
    [
      'of version 2',
      { iss: `https://login.microsoftonline.com/${tenant}/v2.0`, aud: entra.audience[1] },
    ],
    ['for several audiences', { aud: ['api://other', 'api://foghorn'] }],
    ['whose tid is in capitals', { tid: tenant.toUpperCase() }],
    ['without nbf', { nbf: undefined }],
    ['that ended 59 s ago', { exp: seconds - 59 }],
    ['that begins in 60 s', { nbf: seconds + 60 }],
  ])('%s is accepted', (_, changes) => {
    expect(judged(changes)).toBe('accepted')
  })

  test.each([
    ['https://login.partner.microsoftonline.cn', 'https://sts.chinacloudapi.cn'],
    ['https://login.microsoftonline.us', 'https://sts.windows.net'],
  ])('of version 1 in the cloud of %s has the issuer %s', (authority, issuer) => {
    const own = { ...entra, authority }
    const of = (iss: string) => judgeClaims({ ...claims, iss: `${iss}/${tenant}/` }, own, now)
    expect(of(issuer)).toMatchObject({ outcome: 'accepted' })
    expect(of('https://sts.example.com')).toMatchObject({ outcome: 'refused' })
  })

  test.each<[string, Record<string, unknown>, ...string[]]>([
    ['of another tenant', { tid: subscription }, '"tid"', subscription, `accepts "${tenant}"`],
    ['of another issuer', { iss: 'https://sts.windows.net/x/' }, '"iss"', 'net/x/', tenant],
    ['whose issuer has no slash', { iss: claims.iss.slice(0, -1) }, '"iss"'],
    ['of the common issuer', { iss: 'https://login.microsoftonline.com/common/v2.0' }, '"iss"'],
    [
      'for another audience',
      { aud: 'https://management.azure.com/' },
      '"aud"',
      'management.azure',
      'api://foghorn',
    ],
    ['for a part of the audience', { aud: 'api://fog' }, '"aud"'],
    ['for no audience', { aud: [] }, '"aud"'],
    ['that ended 60 s ago', { exp: seconds - 60 }, '"exp" is 2026-11-21T11:59:00.000Z'],
    ['that begins in 61 s', { nbf: seconds + 61 }, '"nbf" is 2026-11-21T12:01:01.000Z'],
    ['without tid', { tid: undefined }, '"tid" is missing'],
    ['without exp', { exp: undefined }, '"exp" is missing'],
    ['without iss', { iss: undefined }, '"iss" is missing'],
    ['without aud', { aud: undefined }, '"aud" is missing'],
    ['whose exp is text', { exp: 'never' }, '"exp" is missing or has the wrong type'],
    ['whose resource is a list', { xms_az_rid: [vmId] }, '"xms_az_rid"'],
  ])('%s is refused, and the reason names the claim', (_, changes, ...said) => {
    for (const part of said) expect(judged(changes)).toContain(part)
  })

  test.each([undefined, null, 'text', 7, []])('with the claims %j is refused', (genuine) => {
    expect(judgeClaims(genuine, entra, now)).toMatchObject({ outcome: 'refused' })
  })

  test('of another authority has its issuer', () => {
    const own = { ...entra, authority: 'https://login.microsoftonline.us' }
    const iss = `${own.authority}/${tenant}/v2.0`
    expect(judgeClaims({ ...claims, iss }, own, now)).toMatchObject({ outcome: 'accepted' })
    expect(judgeClaims({ ...claims, iss }, entra, now)).toMatchObject({ outcome: 'refused' })
  })

  test('with a claim of any length is refused in a short sentence', () => {
    expect(judged({ aud: 'x'.repeat(100_000) }).length).toBeLessThan(600)
  })
})

describe('an ARM id', () => {
  const place = { subscriptionId: subscription, resourceGroup: 'rg-web' }
  test.each<[string, object | undefined]>([
    [vmId, { ...place, name: 'web_0' }],
    [vmId.replace('resourceGroups', 'resourcegroups'), { ...place, name: 'web_0' }],
    [vmId.replace('Microsoft.Compute', 'microsoft.compute'), { ...place, name: 'web_0' }],
    [instanceId, { ...place, name: 'web_0' }],
    [setId, { ...place, scaleSet: 'web' }],
    [assignedId, undefined],
    [`${vmId}/virtualMachines/1`, undefined],
    [`${vmId}/`, undefined],
    [`${setId}/`, undefined],
    [`x${vmId}`, undefined],
    [`${compute}/disks/web_0`, undefined],
    [compute, undefined],
    [group, undefined],
    ['', undefined],
    [vmId.replace('Microsoft.Compute', 'Microsoft.ComputeX'), undefined],
    [vmId.replace('Microsoft.Compute', 'MicrosoftxCompute'), undefined],
    [vmId.replace('/rg-web/', '//'), undefined],
  ])('%s', (id, expected) => {
    expect(parseResource(id)).toEqual(expected)
  })
})

/** The beacon's key, or the reason for the refusal. */
function proven(
  about: Partial<Claims>,
  changes: Partial<Vm> = {},
  own: Partial<Entra> = {},
): string {
  const { xms_az_rid: _, xms_mirid: __, ...rest } = claims
  const outcome = proves({ ...rest, ...about }, { ...entra, ...own }, vm(changes))
  return outcome.outcome === 'proven' ? outcome.beacon : outcome.reason
}

const key = `${subscription}/rg-web/web_0`

describe('a VM is proven', () => {
  test.each<[string, Partial<Claims>, Partial<Vm>?, Partial<Entra>?]>([
    ['by the resource that asked', { xms_az_rid: vmId }],
    ['by its system-assigned identity', { xms_mirid: vmId }],
    [
      'by the resource that asked with a user-assigned one',
      { xms_az_rid: vmId, xms_mirid: assignedId },
    ],
    ['as an instance of a uniform set', { xms_az_rid: instanceId, xms_mirid: setId }],
    ['as an instance of the uniform set that has the identity', { xms_mirid: setId }],
    ['in capitals', { xms_az_rid: vmId.toUpperCase() }],
    ['to a report in capitals', { xms_az_rid: vmId }, { name: 'WEB_0', resourceGroup: 'RG-WEB' }],
    ['as one of a set in capitals', { xms_mirid: setId }, { name: 'Web_0', scaleSet: 'WEB' }],
    ['in a listed group', { xms_az_rid: vmId }, {}, { resourceGroups: ['x', 'RG-Web'] }],
    [
      'in a group of any subscription',
      { xms_az_rid: vmId },
      {},
      { resourceGroups: ['rg-web'], subscriptions: undefined as never },
    ],
  ])('%s', (_, about, changes, own) => {
    expect(proven(about, changes, own)).toBe(key)
  })

  test('whatever vmId it reports', () => {
    expect(proven({ xms_az_rid: vmId }, { vmId: 'of-another' })).toBe(key)
  })
})

describe('a VM is not proven', () => {
  test.each<[string, Partial<Claims>, Partial<Vm>, Partial<Entra>, ...string[]]>([
    [
      'to be another VM',
      { xms_az_rid: vmId },
      { name: 'web_1' },
      {},
      'vm.name is "web_1"',
      'proves "web_0"',
    ],
    ['to have a longer name', { xms_az_rid: vmId }, { name: 'web_01' }, {}, 'vm.name'],
    ['to be another instance', { xms_az_rid: instanceId }, { name: 'web_1' }, {}, 'vm.name'],
    [
      'in another group',
      { xms_az_rid: vmId },
      { resourceGroup: 'rg' },
      {},
      'vm.resourceGroup is "rg"',
      'proves "rg-web"',
    ],
    [
      'in another subscription',
      { xms_az_rid: vmId },
      { subscriptionId: 's' },
      {},
      'vm.subscriptionId is "s"',
    ],
    [
      'without a subscription',
      { xms_az_rid: vmId },
      { subscriptionId: '' },
      {},
      'vm.subscriptionId is ""',
    ],
    ['by nothing', {}, {}, {}, 'lacks both the claims "xms_az_rid" and "xms_mirid"'],
    [
      'by a user-assigned identity',
      { xms_mirid: assignedId },
      {},
      {},
      'which is not a VM',
      'system-assigned',
    ],
    [
      'by its identity if another resource asked',
      { xms_az_rid: assignedId, xms_mirid: vmId },
      {},
      {},
      '"xms_az_rid" is',
    ],
    [
      'by its identity if another VM asked',
      { xms_az_rid: `${vmId}1`, xms_mirid: vmId },
      {},
      {},
      'proves "web_01"',
    ],
    [
      'by another set',
      { xms_mirid: setId },
      { scaleSet: 'api' },
      {},
      'vm.scaleSet is "api"',
      'proves "web"',
    ],
    ['by its set, as another VM', { xms_mirid: setId }, { name: 'db_0' }, {}, 'begin with "web_"'],
    [
      'by its set, with a name that only begins alike',
      { xms_mirid: setId },
      { name: 'web2_0' },
      {},
      'vm.name',
    ],
    ['by its set, without an instance', { xms_mirid: setId }, { name: 'web_' }, {}, 'vm.name'],
    [
      'by its set, in another group',
      { xms_mirid: setId },
      { resourceGroup: 'rg' },
      {},
      'vm.resourceGroup',
    ],
    [
      'if its subscription is not listed',
      { xms_az_rid: vmId },
      {},
      { subscriptions: [tenant] },
      `the subscription "${subscription}"`,
      tenant,
    ],
    [
      'if its group is not listed',
      { xms_az_rid: vmId },
      {},
      { resourceGroups: ['rg', 'rg-web2'] },
      'the resource group "rg-web"',
      '"rg" or "rg-web2"',
    ],
    [
      'if its group is listed, but not its subscription',
      { xms_az_rid: vmId },
      {},
      { subscriptions: [tenant], resourceGroups: ['rg-web'] },
      'the subscription',
    ],
  ])('%s', (_, about, changes, own, ...said) => {
    for (const part of said) expect(proven(about, changes, own)).toContain(part)
  })
})
