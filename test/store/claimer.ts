// A process that claims until nothing is left, and prints what it got. Two of them share one file.
import { setTimeout as sleep } from 'node:timers/promises'
import { openFile } from '../../functions/store/sqlite/file.ts'
import { SqliteStore } from '../../functions/store/sqlite/store.ts'
import { claim } from '../support/claims.ts'

const [path = '', name = ''] = process.argv.slice(2)
let leases = 0
const store = new SqliteStore(openFile(path), { random: () => `${name}-${leases++}` })
process.stdout.write('ready\n')
await new Promise((resolve) => process.stdin.once('data', resolve))
for (let claimed = await claim(store, { limit: 3 }); claimed.length > 0; ) {
  process.stdout.write(claimed.map(({ id }) => `${id}\n`).join(''))
  // a process that never releases the file would starve the other one
  await sleep(1)
  claimed = await claim(store, { limit: 3 })
}
store.close()
process.exit(0)
