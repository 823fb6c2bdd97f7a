// Addresses that are built from names: no name leads to another place.
import { expect, test } from 'vitest'
import { addressBelow } from '../../../functions/core/rules/path.ts'

test.each([
  ['https://arm.example', ['a b', 'c/d', 'e?f#g'], 'https://arm.example/a%20b/c%2Fd/e%3Ff%23g'],
  [
    'https://hook.example/in/',
    ["it's", '...', '%2e%2e'],
    "https://hook.example/in/it's/.../%252e%252e",
  ],
  ['https://hook.example', ['half of \ud83d'], 'https://hook.example/half%20of%20%EF%BF%BD'],
])('%s + %j', (base, segments, address) => {
  expect(addressBelow(base, segments)).toBe(address)
})

test.each([[['a', '..']], [['.', 'a']], [['a', '', 'b']], [['']]])('refuses %j', (segments) => {
  expect(() => addressBelow('https://hook.example/in', segments)).toThrow('may be empty')
})
