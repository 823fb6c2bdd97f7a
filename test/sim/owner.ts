// The owner of a subscription, which a feature brings to a world.
import type { Cluster } from './cluster.ts'
import type { Kernel } from './kernel.ts'
import type { SubscriptionBook } from './subscription-book.ts'
import type { PlannedSubscription } from './subscriptions.ts'

/** What an owner has to do with. */
export interface OwnerParts {
  kernel: Kernel
  cluster: Cluster
  book: SubscriptionBook
}

/** Begins to act as the owner. */
export type Own = (planned: PlannedSubscription, parts: OwnerParts) => void
