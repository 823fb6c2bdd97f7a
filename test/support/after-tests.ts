// Waits for the end of a test run, which closes its standard input, and removes what the run left. Each
// process of the run has the path of its folder in its environment.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** In this time, programs that can end by themselves have done so. */
const graceMs = 5_000
const lookMs = 100

const [folder = '', ...others] = process.argv.slice(2)
for await (const _ of process.stdin);
for (let waitedMs = 0; waitedMs < graceMs && processesOf().length > 0; waitedMs += lookMs) {
  await sleep(lookMs)
}
for (const pid of processesOf()) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has ended
  }
}
for (const path of [folder, ...others]) {
  rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
}

/** None where the system does not show them. */
function processesOf(): number[] {
  try {
    return readdirSync('/proc').filter(Number).map(Number).filter(isOfRun)
  } catch {
    return []
  }
}

function isOfRun(pid: number): boolean {
  try {
    return pid !== process.pid && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(folder)
  } catch {
    return false
  }
}
