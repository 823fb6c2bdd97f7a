// FOGHORN_DATABASE: what it may say, and what is wrong with it in one sentence without the password.
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { readDatabaseAddress } from '../../functions/store/postgres/address.ts'
import { openDatabase } from '../../functions/store/postgres/connect.ts'

test('all parts', () => {
  expect(
    readDatabaseAddress(
      'postgres://fog%40horn:p%2Fw%25@db.example.com:6432/our%20db?sslrootcert=/ca.pem',
    ),
  ).toEqual({
    ...{ host: 'db.example.com', port: 6432, database: 'our db', user: 'fog@horn' },
    ...{ password: 'p/w%', tls: true, rootCertificates: '/ca.pem' },
  })
})

test('the password may be in a variable of its own, as it is', () => {
  const { password } = readDatabaseAddress('postgres://a@h/b', 'p/w%@')
  expect(password).toBe('p/w%@')
  const twice = () => readDatabaseAddress('postgres://a:one@h/b', 'two')
  expect(twice).toThrow('has a password, and FOGHORN_DATABASE_PASSWORD is set; remove one of them')
})

describe('a connection is encrypted, and the certificate checked', () => {
  test.each([
    ['postgres://a@db.example.com/b', true],
    ['postgresql://a@db.example.com/b?sslmode=require', true],
    ['postgres://a@db.example.com/b?sslmode=verify-full', true],
    ['postgres://a@db.example.com/b?sslmode=disable', false],
    // on this machine, nobody is on the way
    ['postgres://a@127.0.0.1/b', false],
    ['postgres://a@[::1]/b', false],
    ['postgres://a@localhost/b?sslmode=verify-full', true],
    ['postgres://a@localhost/b?host=/var/run/postgresql', false],
  ])('%s: %s', (address, tls) => {
    expect(readDatabaseAddress(address)).toMatchObject({ tls })
  })
})

test.each([
  ['mysql://a:secret@h/b', 'is no address of PostgreSQL; write postgres://'],
  ['db.example.com', 'is no address of PostgreSQL'],
  ['postgres://a:secret@h/', 'names no database'],
  ['postgres://h/b', 'names no user'],
  [
    'postgres://a:secret@h/b?sslmode=prefer',
    'has sslmode "prefer"; write "disable" or "verify-full"',
  ],
  [
    'postgres://a:secret@h/b?target_session_attrs=any',
    'has something behind its "?" that Foghorn does not know',
  ],
  ['postgres://a:?secret&more@h/b', 'has something behind its "?" that Foghorn does not know'],
  ['postgres://a:secret%ZZ@h/b', 'has a "%" that begins no escape; write it as %25'],
])('%s: %s', (address, said) => {
  const read = () => readDatabaseAddress(address)
  expect(read).toThrow(`FOGHORN_DATABASE ${said}`)
  expect(read).not.toThrow('secret')
})

test('what a server says is one line, short, and without the password', async () => {
  const password = 'hunter22-secret'
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      const said = `no \u001b[31m${password}\n${btoa(`foghorn:${password}`)} ${'x'.repeat(5_000)}`
      const fields = Buffer.from(`SFATAL\0C28P01\0M${said}\0\0`)
      const head = Buffer.alloc(5)
      head.write('E')
      head.writeInt32BE(fields.length + 4, 1)
      socket.end(Buffer.concat([head, fields]))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const address = readDatabaseAddress(
    `postgres://foghorn:${password}@127.0.0.1:${port}/foghorn?sslmode=disable`,
  )
  const failed = await openDatabase({ address, onLost: () => {} }).catch((error: unknown) => error)
  const { message } = failed as Error
  expect(message).toMatch(/^PostgreSQL "127.0.0.1:\d+\/foghorn": no /)
  expect(message).not.toContain('hunter22')
  expect(message).not.toContain(btoa(`foghorn:${password}`))
  expect(message).not.toContain('\n')
  expect(message).not.toContain('\u001b')
  expect(message.length).toBeLessThan(700)
  expect((failed as Error).cause).toBeUndefined()
  expect(failed).toMatchObject({ code: 'storage_forbidden', state: '28P01' })
  await new Promise((resolve) => server.close(resolve))
})
