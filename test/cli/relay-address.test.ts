// Where a command finds the relay, and the key that it shows there.
import { describe, expect, test } from 'vitest'
import { credentialIn, readAdminKey, readRelayUrl } from '../../functions/cli/relay.ts'

describe('where the relay is', () => {
  test.each([
    ['https://foghorn.example', 'https://foghorn.example'],
    ['https://foghorn.example/relay/', 'https://foghorn.example/relay'],
    ['http://127.0.0.1:7071', 'http://127.0.0.1:7071'],
    ['http://localhost:7071/', 'http://localhost:7071'],
  ])('%s', (given, url) => {
    expect(readRelayUrl(given, 'FOGHORN_URL')).toBe(url)
  })

  test.each([
    ['foghorn.example', /FOGHORN_URL is "foghorn.example"; write the https:/],
    ['ftp://foghorn.example', /write the https:/],
    ['http://foghorn.example', /send the key unencrypted/],
    ['http://127.0.0.1.foghorn.example', /unencrypted/],
  ])('not %s', (given, says) => {
    expect(() => readRelayUrl(given, 'FOGHORN_URL')).toThrow(says)
  })

  test.each(['https://foghorn.example/?token=hunter2', 'https://foghorn.example#hunter2'])(
    'what follows the address in %s is not shown',
    (given) => {
      const says =
        /has "\?" or "#" after "https:\/\/foghorn\.example\/?"; write the address without them/
      expect(() => readRelayUrl(given, 'FOGHORN_URL')).toThrow(says)
    },
  )

  test.each([
    'https://me:hunter2@foghorn.example',
    'https://me:hunter2@fog horn/',
    'http://me:hun@ter2@foghorn.example',
  ])('the password in %s is not shown', (given) => {
    expect(() => readRelayUrl(given, 'FOGHORN_URL')).toThrow(/\/\/\[secret\]@fog ?horn/)
  })
})

test('the key is asked for where it lacks, and never shown', () => {
  expect(readAdminKey('k'.repeat(32))).toBe('k'.repeat(32))
  for (const lacking of [undefined, '']) {
    expect(() => readAdminKey(lacking)).toThrow(/FOGHORN_ADMIN_KEY is not set; set it to/)
  }
  const odd = `hunter2\n${'x'.repeat(32)}`
  expect(() => readAdminKey(odd)).toThrow(/characters that a header cannot have/)
  expect(() => readAdminKey(odd)).not.toThrow(/hunter2/)
})

test('a token counts before the admin key', () => {
  const [token, key] = ['fht_a', 'k'.repeat(32)]
  expect(credentialIn({ FOGHORN_TOKEN: token, FOGHORN_ADMIN_KEY: key })).toBe(token)
  expect(credentialIn({ FOGHORN_ADMIN_KEY: key })).toBe(key)
  expect(() => credentialIn({})).toThrow(/FOGHORN_TOKEN is not set/)
})
