// A process that commits events until it is killed, and prints each commit after it returned. The
// next process that opens the file must find all of them.
import { openFile } from '../../functions/store/sqlite/file.ts'
import { SqliteStore } from '../../functions/store/sqlite/store.ts'
import { claim } from '../support/claims.ts'
import { at, delivery, record } from '../support/records.ts'

const [path = ''] = process.argv.slice(2)
let leases = 0
const store = new SqliteStore(openFile(path), { random: () => `lease-${leases++}` })
for (let i = 0; ; i++) {
  const eventId = `event-${i}`
  const owed = ['chat', 'team'].map((channel) =>
    delivery(`${eventId}/${channel}`, { eventId, channel }),
  )
  const commit = {
    record: record({ eventId }),
    basedOn: 0,
    deliveries: owed,
    supersede: [],
    moments: [],
    now: at,
  }
  const outcome = await store.commit(commit)
  const [claimed] = await claim(store, { now: at, leaseMs: 3_600_000, limit: 1 })
  process.stdout.write(`${outcome} ${eventId} ${claimed?.id}\n`)
}
