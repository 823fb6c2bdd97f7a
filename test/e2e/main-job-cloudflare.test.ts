import { mainJob } from './main-job.ts'

mainJob('cloudflare', 'node')
