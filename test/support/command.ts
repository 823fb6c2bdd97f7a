// A command without a process: its exit code, and what it printed.
import { type Command, type Io, runCommand } from '../../functions/cli/command.ts'

export async function playCommand(
  name: string,
  command: Command,
  words: string[],
  environment: Record<string, string> = {},
  more: Pick<Io, 'call' | 'ask'> = {},
): Promise<{ code: number; out: string; err: string }> {
  const [out, err] = [[] as string[], [] as string[]]
  const code = await runCommand(name, command, words, {
    environment,
    ...more,
    print: (text) => void out.push(`${text}\n`),
    note: (text) => void err.push(`${text}\n`),
    progress: () => {},
    paint: (_, text) => text,
    paintNote: (_, text) => text,
  })
  return { code, out: out.join(''), err: err.join('') }
}

/** The sentence by which a command refuses these words. */
export async function refusalOf(
  command: Command,
  words: string[],
  environment: Record<string, string> = {},
): Promise<string> {
  const { code, out, err } = await playCommand('command', command, words, environment)
  if (code !== 2 || out !== '') throw new Error(`it ended with ${code}: ${out}${err}`)
  return err.replace(/\s+/g, ' ').trim()
}
