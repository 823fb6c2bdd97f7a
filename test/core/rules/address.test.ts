// Network addresses: the check of the configuration and the guard of connections agree.
import { BlockList } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hasBlockedPort, isWithin, whyRefused } from '../../../functions/core/rules/address.ts'
import { addressJudge } from '../../../functions/notify/undici.ts'

describe('a URL', () => {
  const priv = /private or reserved/
  const plain = /plain http/
  test.each<[string, string[], RegExp | undefined]>([
    ['https://chat.example/x', [], undefined],
    ['https://8.8.8.8/x', [], undefined],
    ['https://[2606:4700::1111]/x', [], undefined],
    ['https://10.1.2.3/x', [], priv],
    ['https://10.1.2.3/x', ['10.0.0.0/8'], undefined],
    ['https://10.1.2.3/x', ['10.2.0.0/16', 'fd00::/8'], priv],
    // forms that a URL takes, and that are the same address
    ['https://0x7f.1/x', [], priv],
    ['https://2130706433/x', [], priv],
    ['https://[::ffff:10.0.0.1]/x', [], priv],
    ['https://[::ffff:10.0.0.1]/x', ['10.0.0.0/8'], undefined],
    ['https://[fd00::1]/x', [], priv],
    ['https://[fd00::1]/x', ['fd00::/8'], undefined],
    ['https://169.254.169.254/metadata', [], priv],
    ['https://168.63.129.16/x', [], priv],
    ['https://[::10.0.0.1]/x', [], priv],
    ['https://[::ffff:0:8.8.8.8]/x', [], priv],
    ['https://[64:ff9b:1::808:808]/x', [], priv],
    ['https://[2001:0:1::]/x', [], priv],
    ['https://[FEC0::1]/x', [], priv],
    ['https://[5f00::1]/x', ['5f00::/16'], undefined],
    ['https://１０.０.０.１/x', [], priv],
    ['https://%31%30.0.0.1/x', [], priv],
    ['https://012.0.0.1/x', [], priv],
    ['https://10.0.0.1./x', [], priv],
    ['https://localhost/x', [], priv],
    ['https://a.localhost/x', [], priv],
    ['https://localhost.example/x', [], undefined],
    ['https://localhost/x', ['127.0.0.0/8'], undefined],
    ['https://localhost/x', ['::1/128'], undefined],
    ['http://192.168.1.1/x', [], plain],
    ['http://192.168.1.1/x', ['10.0.0.0/8'], plain],
    ['http://192.168.1.1/x', ['192.168.1.0/24'], undefined],
    ['http://8.8.8.8/x', ['10.0.0.0/8'], plain],
    ['http://localhost/x', ['10.0.0.0/8'], plain],
    ['http://chat.example/x', [], plain],
    // what a name resolves to is for the guard to judge
    ['http://chat.example/x', ['10.0.0.0/8'], undefined],
  ])('%s with %j', (url, allowNetworks, why) => {
    if (why === undefined) expect(whyRefused(url, allowNetworks)).toBeUndefined()
    else expect(whyRefused(url, allowNetworks)).toMatch(why)
  })
})

test('ports that are refused are those that fetch asks nothing', async () => {
  const urls = [...Array(65_536).keys()].map((port) => `http://127.0.0.1:${port}`)
  const blocked = urls.filter(hasBlockedPort)
  expect(blocked).toHaveLength(82)
  for (const url of blocked) {
    const failed = await fetch(url).catch((error: Error) => error.cause)
    expect(String(failed)).toContain('bad port')
  }
})

/** The networks according to Node. Our own reading of addresses is compared with this. */
function listOf(networks: string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix = ''] = network.split('/')
    list.addSubnet(address, Number(prefix), address.includes(':') ? 'ipv6' : 'ipv4')
  }
  return list
}

test("addresses are in the same networks as by Node's own reading", () => {
  fc.assert(
    fc.property(fc.oneof(v4, v6), networks, (address, some) => {
      const all = some.map(([start, prefix]) => `${start}/${prefix}`)
      const family = address.includes(':') ? 'ipv6' : 'ipv4'
      expect(isWithin(address, all)).toBe(listOf(all).check(address, family))
    }),
    { numRuns: 500, seed: 1 },
  )
})

/** What the guard says of an address. */
function guardRefuses(address: string, allowed: string[], isPlain: boolean): boolean {
  try {
    addressJudge(allowed)(address, isPlain)
    return false
  } catch {
    return true
  }
}

const edges = ['9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0', '172.31.255.255']
const v4 = fc.oneof(fc.ipV4(), fc.constantFrom(...edges, '172.32.0.0', '192.168.0.1', '127.1.2.3'))
const v6 = fc.oneof(
  fc.ipV6(),
  v4.map((address) => `::ffff:${address}`),
  fc.constantFrom('::', '::1', 'fe80::1', 'febf::', 'fec0::', 'fdff::', '2001:db8::', '2002::1'),
)
const networks = fc.uniqueArray(
  fc.oneof(
    fc.tuple(v4, fc.integer({ min: 0, max: 32 })),
    fc.tuple(
      v6.filter((address) => !address.includes('.')),
      fc.integer({ min: 0, max: 128 }),
    ),
  ),
  { maxLength: 3 },
)

test('is judged as the guard at connect judges it', () => {
  fc.assert(
    fc.property(fc.oneof(v4, v6), networks, fc.boolean(), (address, some, isPlain) => {
      const allowed = some.map(([start, prefix]) => `${start}/${prefix}`)
      const host = address.includes(':') ? `[${address}]` : address
      const why = whyRefused(`${isPlain ? 'http' : 'https'}://${host}/`, allowed)
      expect(why !== undefined).toBe(guardRefuses(address, allowed, isPlain))
    }),
    { numRuns: 500, seed: 1 },
  )
})

test('text that is not an address is in no network', () => {
  for (const text of ['', 'a', 'chat.example', '1.2.3', '1.2.3.256', '1:2', ':::::::::', 'g::']) {
    expect(isWithin(text, ['0.0.0.0/0', '::/0'])).toBe(false)
  }
})
