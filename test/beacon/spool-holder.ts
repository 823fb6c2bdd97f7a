// A process that holds a state directory until it is killed, for spool.test.ts.
import { systemClock } from '../../beacon/clock.ts'
import { openSpool } from '../../beacon/spool.ts'
import { anEvent } from './events.ts'

const directory = process.argv[2] ?? ''
const log = { debug() {}, info() {}, warn() {}, error() {} }
const spool = openSpool({ directory, clock: systemClock, log })
const event = anEvent({ eventId: 'held' })
spool.append([{ kind: 'appeared', seenAt: systemClock.monotonic(), firstPoll: true, event }])
process.stdout.write('held\n')
setInterval(() => {}, 60_000)
