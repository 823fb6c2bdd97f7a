// How a command ends that failed: its error on standard error, and its exit code.
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { exitCodes } from './arguments.ts'
import { wrap } from './layout.ts'

export function reportFailure(error: unknown): void {
  const known = error instanceof FoghornError
  const lines = (known ? error.message : messageOf(error)).split('\n')
  process.stderr.write(`${lines.flatMap((line) => wrap(line)).join('\n')}\n`)
  const isMistake = known && error.code === 'arguments_wrong'
  process.exitCode = isMistake ? exitCodes.wrong : exitCodes.broken
}
