// A failing world, made small enough to be read: kinds of faults are left out one after another while the
// same promise stays broken, and of the trace that remains only the lines that matter are shown.
import type { Options, Outcome } from './world.ts'
import { runWorld } from './world.ts'

const maxLines = 60

/** The same seed with as few kinds of faults as it takes. */
export async function shrink(outcome: Outcome, options: Options = {}): Promise<Outcome> {
  let smallest = outcome
  let without = [...(options.without ?? [])]
  for (const kind of outcome.faults) {
    const tried = await runWorld(outcome.seed, { ...options, without: [...without, kind] })
    if (tried.broken[0]?.promise !== outcome.broken[0]?.promise) continue
    smallest = tried
    without = [...without, kind]
  }
  return smallest
}

/** What a person needs to see what went wrong, and to see it again. */
export function tell(smallest: Outcome, { without = [], only = [] }: Options): string {
  const { seed, storage, broken, faults, trace } = smallest
  const on = storage === 'sqlite' ? '' : `STORAGE=${storage} `
  const left = without.length === 0 ? '' : `WITHOUT=${without.join(',')} `
  const own = only.length === 0 ? '' : `ONLY=${only.join(',')} `
  return [
    `seed ${seed} breaks "${broken[0]?.promise}": ${broken[0]?.text}`,
    `replay: ${on}${own}${left}SEED=${seed} RUNS=1 npm run sim`,
    `faults that it takes: ${faults.join(', ') || 'none'}`,
    ...pickLines(trace, broken[0]?.text ?? '').map((line) => `  ${line}`),
  ].join('\n')
}

function pickLines(trace: string[], text: string): string[] {
  const eventId = /[\da-f]{8}-[\da-f-]{27}/.exec(text)?.[0]
  const end = trace.findIndex((line) => line.includes('BROKEN'))
  const past = end === -1 ? trace : trace.slice(0, end + 1)
  // a VM that repeats its last line is left out
  const lastOf = new Map<string, string>()
  const isNews = (line: string) => {
    const [, vm, said] = / (\S+) is heard: (.*)/.exec(line) ?? []
    if (vm === undefined || said === undefined) return true
    const before = lastOf.get(vm)
    lastOf.set(vm, said)
    return before !== said
  }
  const matters = (line: string) =>
    eventId === undefined ||
    line.includes(eventId) ||
    / (crashes|dies|starts|VMs|policy|the subscription|the owner of) ?/.test(line)
  const lines = past.filter((line, i) => (i < 2 || matters(line)) && isNews(line))
  const cut = lines.length - maxLines
  return cut > 0 ? [...lines.slice(0, 2), `… ${cut} lines …`, ...lines.slice(-maxLines)] : lines
}
