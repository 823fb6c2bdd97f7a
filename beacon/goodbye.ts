// Why the beacon stops, for its last report. The scripts of a package write the reason into a file
// before they stop the service. systemd knows if the whole VM is shutting down.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Goodbye, goodbyes } from '../shared/report.ts'

/** The file is in the state directory. It contains one word of `goodbyes`. */
const fileName = 'stopping'
/** systemd answers within some milliseconds. The last report must not wait longer for it. */
const askMs = 500
/** This folder exists if systemd runs the system: see sd_booted(3). */
const systemdFolder = '/run/systemd/system'

interface Stopping {
  /** Removes a reason that an earlier stop did not read. Call this at the start. */
  clear(): void
  /** Removes the file that it reads. Never rejects. */
  reason(): Promise<Goodbye>
}

/** `systemctl` and `booted` are for tests. */
export function createStopping(
  directory: string,
  { systemctl = 'systemctl', booted = systemdFolder } = {},
): Stopping {
  const file = join(directory, fileName)
  return {
    clear: () => remove(file),
    async reason() {
      const word = readWord(file)
      remove(file)
      const written = goodbyes.find((one) => one === word)
      if (written !== undefined) return written
      return existsSync(booted) && (await isShuttingDown(systemctl)) ? 'shutdown' : 'stopped'
    },
  }
}

function readWord(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    // usually there is none
    return undefined
  }
}

function remove(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch {
    // the next start tries again
  }
}

/** Asks without a shell, and without the settings of the beacon, which contain its key. */
function isShuttingDown(systemctl: string): Promise<boolean> {
  // loaded at the end only, because it takes memory
  const { execFile } = process.getBuiltinModule('node:child_process')
  const options = { timeout: askMs, env: { PATH: '/usr/bin:/bin' } }
  return new Promise((resolve) => {
    execFile(systemctl, ['is-system-running'], options, (_failed, answer) =>
      // the exit code says only whether it is "running"
      resolve(answer.trim() === 'stopping'),
    )
  })
}
