// The program in a release: the relay, and the commands of its owner.
import { runProgram } from '../../functions/cli/program.ts'
import { ownerCommands } from '../owner-commands.ts'

const help = {
  first: 'foghorn COMMAND [--help]',
  last: 'The folder docs beside this program says how they are used.',
}

const groups = { 'For owners of a relay': ownerCommands }
await runProgram({ groups, call: 'foghorn', help }, process.argv.slice(2))
