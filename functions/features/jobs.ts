// What time brings beside due events and deliveries.
import type { Check, Sweep } from '../use-cases/job.ts'
import { checkItself, sendProblems } from './problems/use.ts'
import { sweepBeacons } from './silence/use.ts'
import { checkAbsences } from './silence/use-absent.ts'

// beacons first, so that no alert names one that is back
export const sweeps: readonly Sweep[] = [sweepBeacons, sendProblems]
export const checks: readonly Check[] = [checkItself]
// those that read whole fleets
export const fleetChecks: readonly Check[] = [checkAbsences]
