// How often one asker may make the relay send: the tokens that one token has made are one asker.
import { Hono } from 'hono'
import { expect, test } from 'vitest'
import type { Access } from '../../functions/core/rules/access.ts'
import { limitRates } from '../../functions/http/rate.ts'

type Token = Extract<Access, { by: 'token' }>

let now = 0
const tokenOf = (id: string, first?: string): Token =>
  ({ by: 'token', id, ...(first && { first }), name: id, scopes: ['manage'] }) as Token

function serve(status = 200) {
  const limited = limitRates(() => now)
  return async (access: Access) => {
    const once = new Hono<{ Variables: { access: Access } }>()
    once.use('*', (c, next) => {
      c.set('access', access)
      return next()
    })
    once.get('/', limited('endpoints'), (c) => c.text('', status as 200))
    return (await once.request('/')).status
  }
}

test('sixty in a minute, for a token and all that it has made', async () => {
  const ask = serve()
  const statuses = []
  for (let i = 0; i < 61; i++) statuses.push(await ask(tokenOf(`made-${i}`, 'own')))
  expect(statuses.slice(-2)).toEqual([200, 429])
  expect([await ask(tokenOf('own')), await ask(tokenOf('other'))]).toEqual([429, 200])
  now += 60_000
  expect(await ask(tokenOf('own'))).toBe(200)
})

test('a refused one does not count', async () => {
  const ask = serve(400)
  for (let i = 0; i < 70; i++) expect(await ask(tokenOf('own'))).toBe(400)
})
