import { hasExecutable } from '../support/beacon-ways.ts'
import { mainJob } from './main-job.ts'

mainJob('azure', hasExecutable ? 'executable' : 'node')
