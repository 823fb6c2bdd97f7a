// The command `npm run simulator`: runs a simulated fleet until it is stopped.
import { help, readArguments, sentenceOf } from './arguments.ts'
import { type SimulatorOptions, startSimulator } from './simulator.ts'

const WRONG_ARGUMENTS = 2
function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function fail(error: unknown): never {
  const sentence = sentenceOf(error)
  process.stderr.write(`${sentence ?? (error as Error).message}\n`)
  process.exit(sentence === undefined ? 1 : WRONG_ARGUMENTS)
}

async function run(options: SimulatorOptions): Promise<void> {
  const simulator = await startSimulator({ ...options, log: print })
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void simulator.stop())
  print(`control  ${simulator.controlUrl}`)
  for (const vm of simulator.vms) print(`${vm.name}  ${vm.url}  ${vm.tenant}`)
  print('Stop with Ctrl+C.')
}

try {
  const given = readArguments(process.argv.slice(2))
  if (given === 'help') print(help.trimEnd())
  else await run(given)
} catch (error) {
  fail(error)
}
