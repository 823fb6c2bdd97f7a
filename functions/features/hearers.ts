// Who hears that something is wrong with Foghorn itself.
import type { Hearer } from '../use-cases/hearer.ts'
import { problemHearer } from './problems/use.ts'

export const hearers: readonly Hearer[] = [problemHearer]
