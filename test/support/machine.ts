// A throw-away copy of this machine, in which tests install packages and start services. Its first
// process is a real systemd, so units have their real sandbox. It is killed after 90 s.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const helper = join(import.meta.dirname, 'machine.sh')

/** A beacon of this machine is not part of the copy. `heard UNIT WORDS` waits until the journal of the unit has the words. */
const functions = `
rm -rf /etc/foghorn /var/lib/foghorn
set -x
heard() {
  tries=0
  until journalctl -o cat -u "$1" | grep "$2"; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { journalctl; exit 1; }
    sleep 0.1
  done
}
`

/** Why there can be none here; undefined if there can. */
export async function machineProblem(): Promise<string | undefined> {
  known ??= probe()
  return known
}
let known: Promise<string | undefined> | undefined

async function probe(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'needs Linux'
  if (process.getuid?.() !== 0) return 'needs root'
  return inMachine('true').then(
    () => undefined,
    (error: Error) => `needs namespaces, overlayfs and systemd: ${error.message.trim()}`,
  )
}

/**
 * The output of a shell script, which sees all files of this machine. Throws if a command of the
 * script fails, or if there is no machine.
 */
export async function inMachine(script: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'foghorn-machine-'))
  try {
    writeFileSync(join(folder, 'script'), functions + script)
    const child = spawn('sh', [helper, folder], { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += chunk
    })
    await once(child, 'close')
    const read = (name: string) => {
      const file = join(folder, name)
      return existsSync(file) ? readFileSync(file, 'utf8') : ''
    }
    const code = read('code').trim()
    if (code === '0') return read('output')
    const end =
      code === '' ? `it was killed or did not start: ${said}` : `the script ended with ${code}`
    throw new Error(`${end}\n${read('output')}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
