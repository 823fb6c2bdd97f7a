// The store's contract in the real workerd, on the SQLite of a Durable Object.
import { env, runInDurableObject } from 'cloudflare:test'
import { openStorage } from '../../functions/store/durable-object.ts'
import { RelayStore } from '../../functions/store/relay-store.ts'
import { SqlRows } from '../../functions/store/sqlite.ts'
import type { Store } from '../../functions/store/store.ts'
import { storeContract } from '../store/contract.ts'

storeContract('The SQLite of a Durable Object', async () => {
  const stub = env.RELAY.get(env.RELAY.newUniqueId())
  const open = async (): Promise<Store> => {
    const store = await runInDurableObject(stub, (_object, state) => {
      const newId = () => crypto.randomUUID()
      const rows = new SqlRows(openStorage(state.storage), { nonce: newId() })
      return new RelayStore({ rows, newId, random: Math.random })
    })
    const inObject =
      (method: keyof Store) =>
      (...args: never[]) =>
        runInDurableObject(stub, () =>
          (store[method] as (...args: never[]) => unknown).apply(store, args),
        )
    const lastPosition = store.lastPosition.bind(store)
    // a promise resolves to the proxy only if it has no `then`
    return new Proxy(store, {
      get: (_store, name) => {
        if (name === 'lastPosition') return lastPosition
        return name in store ? inObject(name as keyof Store) : undefined
      },
    })
  }
  const store = await open()
  // an object is alone on its storage
  return { store, reopen: async () => store, close: async () => {} }
})
