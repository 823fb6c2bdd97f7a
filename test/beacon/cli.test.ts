// The command line: which command runs, and what a person sees of the others.
import { expect, test } from 'vitest'
import { type Command, runCommand } from '../../beacon/cli.ts'
import { drainVariables } from '../../beacon/kubernetes/settings.ts'
import { variables } from '../../beacon/variables.ts'

const commands: Command[] = [
  { words: '', about: 'runs the beacon', run: () => 0 },
  { words: 'check', about: 'looks around', run: async () => 2 },
]

async function run(...words: string[]) {
  const lines = { out: [] as string[], error: [] as string[] }
  const code = await runCommand(commands, words, '1.2.3', {
    out: (line) => lines.out.push(line),
    error: (line) => lines.error.push(line),
  })
  return { code, out: lines.out.join('\n'), error: lines.error.join('\n') }
}

test('a command gives the exit code', async () => {
  expect(await run()).toEqual({ code: 0, out: '', error: '' })
  expect(await run('check')).toEqual({ code: 2, out: '', error: '' })
})

test('--version', async () => {
  expect(await run('--version')).toEqual({ code: 0, out: 'foghorn-beacon 1.2.3', error: '' })
})

test.each([[['--help']], [['check', '--help']]])(
  '%s shows all commands and all settings',
  async (words) => {
    const { code, out } = await run(...words)
    expect(code).toBe(0)
    const settings = Object.keys({ ...variables, ...drainVariables })
    for (const one of ['check', '--version', '--help', ...settings]) expect(out).toContain(one)
    expect(out).not.toContain('`')
  },
)

test.each([['chek'], ['--check'], ['check', 'now'], ['-h']])('unknown: %s %s', async (...words) => {
  const { code, out, error } = await run(...words.filter((word) => word !== undefined))
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(error).toContain(`"${words.join(' ')}"`)
  expect(error).toContain('foghorn-beacon check')
})
