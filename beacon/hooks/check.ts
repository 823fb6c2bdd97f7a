// One line of `foghorn-beacon check`: whether hooks would run on this VM, or what to do.
import { parseJson } from '../../shared/json.ts'
import type { Hook } from '../../shared/report.ts'
import type { HookSettings } from '../settings.ts'
import { findHook, judgeOwner } from './inspect.ts'
import { answerSchema, connected, type Presence, readLines, type Status } from './protocol.ts'

const answerWithinMs = 5_000

/** Disturbs no run. A VM without hooks is ok. */
export async function checkHooks(
  settings: Pick<HookSettings, 'folder' | 'socket'>,
): Promise<{ ok: boolean; says: string }> {
  const { folder, socket } = settings
  const status = await statusAt(socket)
  if (typeof status !== 'string') return judge(status)
  const present = (['prepare', 'restore'] as const).filter((hook) => isPresent(folder, hook))
  if (present.length === 0) {
    return {
      ok: true,
      says: `this VM has no hooks: ${folder} has no program, and no runner answers`,
    }
  }
  const remedy = status.includes('EACCES')
    ? 'Run the check as root'
    : 'Start the service foghorn-hooks, or the beacon with --with-hooks'
  const names = present.join(' and ')
  return { ok: false, says: `${folder} has ${names}, but no runner answers (${status}). ${remedy}` }
}

function judge({ prepare, restore }: Status): { ok: boolean; says: string } {
  const refusals = [describeCheck(prepare), describeCheck(restore)].filter((note) => note !== '')
  if (refusals.length > 0)
    return { ok: false, says: `refused: ${[...new Set(refusals)].join('; ')}` }
  if (prepare.state === 'ready') {
    const both = restore.state === 'absent' ? 'prepare; there is no restore' : 'prepare and restore'
    return { ok: true, says: `the runner answers, and would run ${both}` }
  }
  if (restore.state === 'absent') return { ok: true, says: 'the runner answers, and has no hooks' }
  return { ok: false, says: 'there is a restore without a prepare, so it never runs: add prepare' }
}

function describeCheck(presence: Presence): string {
  return presence.state === 'refused' ? presence.note : ''
}

function isPresent(folder: string, hook: Hook): boolean {
  return findHook(folder, hook, judgeOwner(process)).presence.state !== 'absent'
}

/** The status, or a sentence that says why there is none. */
async function statusAt(path: string): Promise<Status | string> {
  const socket = await connected(path)
  if (typeof socket === 'string') return socket
  const lines: string[] = []
  readLines(socket, (line) => {
    lines.push(line)
    socket.destroy()
  })
  socket.setTimeout(answerWithinMs, () => socket.destroy())
  socket.write(`${JSON.stringify({ ask: 'status' })}\n`)
  await new Promise((resolve) => socket.once('close', resolve))
  const answer = answerSchema.safeParse(parseJson(lines[0] ?? ''))
  return answer.success ? answer.data.status : `${path} gives no valid answer`
}
