// All jobs, in their order.
import { jobs as ofFeatures } from '../features/jobs.ts'
import { forgetting } from './forget.ts'
import type { Job } from './job.ts'

// forgetting runs first, so that the checks after it count no beacon that it removes
export const jobs: readonly Job[] = [forgetting, ...ofFeatures]
