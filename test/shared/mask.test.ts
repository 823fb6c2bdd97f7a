// Addresses with a password: what may be shown of one, and what is secret in it.
import { expect, test } from 'vitest'
import { secretsInProxy, secretsInUrl, withoutPassword } from '../../shared/mask.ts'

test.each([
  ['https://relay.example.com/', 'https://relay.example.com/'],
  ['https://user:pass@relay.example.com/', 'https://[secret]@relay.example.com/'],
  ['https://user:pa/ss@relay.example.com', 'https://[secret]@relay.example.com'],
  ['https://user:p@ss@relay.example.com', 'https://[secret]@relay.example.com'],
  ['https:user:pass@relay.example.com', 'https:[secret]@relay.example.com'],
  ['user:pass@relay.example.com', '[secret]@relay.example.com'],
])('%s is shown as %s', (url, shown) => {
  expect(withoutPassword(url)).toBe(shown)
})

test('the user of a proxy without a password may be a token', () => {
  expect(secretsInProxy('http://tok3n-of-a-proxy@proxy.example:8080')).toEqual(
    expect.arrayContaining(['tok3n-of-a-proxy', 'tok3n-of-a-proxy:']),
  )
  expect(secretsInProxy('http://proxy.example:8080')).toEqual([])
  expect(secretsInUrl('postgres://postgres@db.example/foghorn')).toEqual([])
})
