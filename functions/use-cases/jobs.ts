// All jobs, in their order.
import { jobs as ofFeatures } from '../features/jobs.ts'
import { forgetting } from './forget.ts'
import type { Job } from './job.ts'

// what is forgotten first is named by no alert
export const jobs: readonly Job[] = [forgetting, ...ofFeatures]
