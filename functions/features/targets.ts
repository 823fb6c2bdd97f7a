// Channels that features keep in the store.
import type { FindStored } from '../use-cases/target.ts'
import { findSubscribed } from './subscriptions/use-channel.ts'

export const storedChannels: readonly FindStored[] = [findSubscribed]
