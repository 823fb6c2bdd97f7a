import { mainJob } from './main-job.ts'

mainJob('node', 'node', ['recorded', 'fleets'])
