// The problems of one kind in one fleet, in one row.
import { createRows } from '../../store/small-rows.ts'
import type { ProblemKind, ProblemRow } from './rule.ts'

export const problemRows = createRows<{ row: ProblemRow }, { fleet: string; kind: ProblemKind }>(
  'problem',
  ({ fleet, kind }) => ({ name: [fleet, kind] }),
)
