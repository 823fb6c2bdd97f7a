// What is looked at once more before owners are told of problems.
import type { Rechecks } from '../use-cases/hearer.ts'
import { silenceRechecks } from './silence/recheck.ts'

export const rechecks: Rechecks = { ...silenceRechecks }
