// The rows of the contract's table for the kinds that features bring.
import { shipKinds } from './ship/kinds.ts'

export const groupedKinds = { ...shipKinds }
