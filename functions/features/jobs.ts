// What time brings beside due events and deliveries.
import type { Job, Sweep } from '../use-cases/job.ts'
import { ownChecks, sendProblems } from './problems/use.ts'
import { sweepBeacons } from './silence/use.ts'
import { absences } from './silence/use-absent.ts'

export const sweeps: readonly Sweep[] = [sweepBeacons, sendProblems]
export const jobs: readonly Job[] = [absences, ownChecks]
