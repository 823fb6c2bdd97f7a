import { hearsByItself } from '../../functions/core/delivery/delivery.ts'

/** It gets every step. */
export function isMachine(channel: string): boolean {
  return channel === 'hook' || hearsByItself(channel)
}
