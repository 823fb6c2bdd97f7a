// The feature `subscriptions` says how many there are.
export { listSubscribed } from '../subscriptions/use.ts'
