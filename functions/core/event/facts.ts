// What Azure says of an event, as its speakers show it.
import { isAdvice, type ScheduledEvent } from '../../../shared/document.ts'

/** The event in a report. `vmCount`: of how many VMs, if `resources` has only the first ones. */
export type ShownEvent = ScheduledEvent & { vmCount?: number }

/** Values that Azure may change while the event is scheduled. */
export type Values = Pick<
  ScheduledEvent,
  'eventType' | 'source' | 'resources' | 'notBeforeAt' | 'durationSeconds' | 'description'
>

/** Values that rules read. Where VMs contradict each other on one of them, no rule approves. */
export const ruled = ['eventType', 'resources', 'source', 'durationSeconds'] as const
export type Ruled = (typeof ruled)[number]

/** The event in Azure, as its speakers show it. An unknown value never replaces a known one. */
export type Facts = Omit<ShownEvent, 'eventId' | 'status'> & {
  /**
   * VMs that named themselves while an affected VM showed the event without them, in lower case. Until
   * one of those, or Azure's list, names them, they add their name and are onlookers.
   */
  selfNamed?: string[]
  /** All VMs that ever named themselves so. */
  namedOnce?: string[]
  home?: Home
}

/** Where its VMs are. Azure puts no VM of another resource group into an event. */
export interface Home {
  resourceGroup: string
  subscriptionId?: string
  /** Azure's list says so. Otherwise the first VM that showed the event said it of itself. */
  listed?: true
}

export function countVms({ resources, vmCount }: Facts): number {
  return vmCount ?? resources.length
}

/** Why nobody decides: Azure alone does about so many VMs, and advice has nothing to decide. */
export type Undecidable = 'too_many_vms' | 'nothing_to_decide'

export function undecidable(facts: Facts): Undecidable | undefined {
  if (facts.vmCount !== undefined) return 'too_many_vms'
  return isAdvice(facts) ? 'nothing_to_decide' : undefined
}

/** The facts with the VMs of others. */
export function withVms(facts: Facts, { resources, vmCount }: Facts): Facts {
  const { vmCount: _, ...rest } = facts
  return { ...rest, resources, ...(vmCount !== undefined && { vmCount }) }
}
