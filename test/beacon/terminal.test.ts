// Lines for a reader that is slower than the writer: none is lost, and they keep their order.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ofRun } from '../support/process.ts'
import { temporaryDirectory } from './world.ts'

const terminal = join(import.meta.dirname, '../../beacon/cli.ts')
/** More bytes than a socket holds. */
const lines = Array.from({ length: 20_000 }, (_, i) => `${i} ${'ä'.repeat(50)}`)
const program = `
  import { terminal } from ${JSON.stringify(terminal)}
  for (let i = 0; i < ${lines.length}; i++) terminal.out(i + ' ' + 'ä'.repeat(50))
  terminal.error('all lines are printed')
`

/** Both ends of a socket. */
async function pair(): Promise<[Socket, Socket]> {
  const path = join(temporaryDirectory(), 'socket')
  const server = createServer().listen(path)
  await once(server, 'listening')
  const near = connect(path)
  const [far] = (await once(server, 'connection')) as [Socket]
  onTestFinished(() => {
    server.close()
    near.destroy()
    far.destroy()
  })
  return [near, far]
}

describe.skipIf(process.platform === 'win32')('a reader that is slow', () => {
  test('gets all lines in their order, even if the writer may not wait for it', async () => {
    const [given, reader] = await pair()
    // Node would make the descriptors 0 to 2 of a child waiting ones, so the shell passes it on
    const words = ['-c', 'exec "$0" --input-type=module -e "$1" >&3', process.execPath, program]
    const child = spawn('sh', words, {
      env: ofRun(),
      stdio: ['ignore', 'ignore', 'pipe', given],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    given.destroy()
    const [said] = (await once(child.stderr!, 'data')) as [Buffer]
    expect(String(said)).toBe('all lines are printed\n')
    const chunks: Buffer[] = []
    for await (const chunk of reader) chunks.push(chunk as Buffer)
    expect(Buffer.concat(chunks).toString().split('\n')).toEqual([...lines, ''])
  })
})
