// A process that commits events until it is killed, and prints each commit after it returned. The
// next process that opens the file must find all of them.
import { claim } from '../support/claims.ts'
import { at, commitOf, delivery, record } from '../support/records.ts'
import { openStore } from '../support/stores.ts'

const [path = ''] = process.argv.slice(2)
const store = openStore(path)
for (let i = 0; ; i++) {
  const eventId = `event-${i}`
  const deliveries = ['chat', 'team'].map((channel) =>
    delivery(`${eventId}/${channel}`, { eventId, channel }),
  )
  const outcome = await store.commit(commitOf({ record: record({ eventId }), deliveries }))
  const [claimed] = await claim(store, { now: at, leaseMs: 3_600_000, limit: 1 })
  process.stdout.write(`${outcome} ${eventId} ${claimed?.id}\n`)
}
