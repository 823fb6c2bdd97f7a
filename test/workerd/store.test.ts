// The store's contract in the real workerd, on the SQLite of a Durable Object.
import { env, runInDurableObject } from 'cloudflare:test'
import { openStorage } from '../../functions/store/sqlite/durable-object.ts'
import { SqliteStore } from '../../functions/store/sqlite/store.ts'
import type { Store } from '../../functions/store/store.ts'
import { storeContract } from '../store/contract.ts'

storeContract('SqliteStore in a Durable Object', async () => {
  const stub = env.RELAY.get(env.RELAY.newUniqueId())
  const open = async (): Promise<Store> => {
    const store = await runInDurableObject(
      stub,
      (_object, state) =>
        new SqliteStore(openStorage(state.storage), { random: () => crypto.randomUUID() }),
    )
    const inObject =
      (method: keyof Store) =>
      (...args: never[]) =>
        runInDurableObject(stub, () =>
          (store[method] as (...args: never[]) => unknown).apply(store, args),
        )
    // a promise resolves to the proxy only if it has no `then`
    return new Proxy(store, {
      get: (_store, name) => (name in store ? inObject(name as keyof Store) : undefined),
    })
  }
  const store = await open()
  // an object is alone on its storage
  return { store, reopen: async () => store, close: async () => {} }
})
