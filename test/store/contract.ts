// The promises of every store (functions/store/store.ts), as one suite for all of them. `open`
// gives an empty store, and `reopen` a second handle on the same data, like another worker.
import { afterEach, beforeEach, describe } from 'vitest'
import type { Store } from '../../functions/store/store.ts'
import { beaconPromises } from './contract/beacons.ts'
import type { Bench } from './contract/bench.ts'
import { browsePromises } from './contract/browse.ts'
import { claimPromises } from './contract/claims.ts'
import { commitPromises } from './contract/commits.ts'
import { countPromises } from './contract/counts.ts'
import { growthPromises } from './contract/growth.ts'
import { listPromises } from './contract/lists.ts'
import { momentPromises } from './contract/moments.ts'
import { ratePromises } from './contract/rates.ts'
import { turnPromises } from './contract/round-robin.ts'
import { settlePromises } from './contract/settling.ts'
import { sharePromises } from './contract/shares.ts'
import { sizePromises } from './contract/sizes.ts'
import { memoPromises } from './contract/small-rows.ts'
import { subscriptionPromises } from './contract/subscriptions.ts'

interface Opened {
  store: Store
  reopen(): Promise<Store>
  close(): Promise<void>
}

export function storeContract(name: string, open: () => Promise<Opened>): void {
  describe(`${name} keeps the promises of a store`, () => {
    let opened: Opened
    beforeEach(async () => {
      opened = await open()
    })
    afterEach(() => opened.close())
    const bench: Bench = {
      get store() {
        return opened.store
      },
      reopen: () => opened.reopen(),
    }
    commitPromises(bench)
    claimPromises(bench)
    ratePromises(bench)
    turnPromises(bench)
    settlePromises(bench)
    sizePromises(bench)
    sharePromises(bench)
    beaconPromises(bench)
    listPromises(bench)
    browsePromises(bench)
    growthPromises(bench)
    memoPromises(bench)
    momentPromises(bench)
    subscriptionPromises(bench)
    countPromises(bench)
  })
}
